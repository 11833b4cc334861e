// memory_map.js - the regions of linear memory, with the kv cache divided into what is filled and what is free

import { say } from '../../state/base/language.js';
import { MEMORY } from '../../text/count_text.js';
import { int, positionsSaid, tokensSaid } from '../../text/format.js';

/** @typedef {{ name: string, kind: string, bytes: number }} Piece  kind: its class in style/count.css */

/** Regions that the library's map names, the kv cache left out: kind and name. @type {Record<string, [string, string]>} */
const REGIONS = {
  'constants and stack': ['base', say`constants and stack`],
  weights: ['weights', say`weights`],
  scratch: ['scratch', say`scratch`],
  free: ['free', say`free`],
};

/**
 * Positions whose keys and values are cached: of the text, and for cross-attention of the source. Half of an
 * encoder-decoder's attentions keep each. The engine writes ahead of a reader and frees what it has ended: then the cache
 * holds fewer positions than the text.
 * @param {Pick<import('../../state/store/state.js').State['text'], 'tokens' | 'sourceTokens'> & { kind: string }} text
 * @param {number} bytesPerPosition  if every attention kept it
 * @param {number} actual  bytes of the cache
 */
export function cached({ tokens, sourceTokens, kind }, bytesPerPosition, actual) {
  const two = kind === 'encoder_decoder';
  const positions = two ? (tokens.length + sourceTokens.length) / 2 : tokens.length;
  if (actual && positions * bytesPerPosition > actual)
    return { bytes: actual, words: positionsSaid(actual / bytesPerPosition) };
  return {
    bytes: positions * bytesPerPosition,
    words: two ? say`${tokensSaid(tokens.length)} and ${sourceTokens.length} of the source` : tokensSaid(tokens.length),
  };
}

const BLOCK = 32; // numbers of Q8_0 and Q4_0 that share a scale, which files store as f16
const SCALE = 2; // bytes that a scale takes more as f32

/**
 * Why weights take more bytes in memory than in the file, by reason.
 * @param {{ dtype: string, count: number, tiedTo: string | null }[]} rows
 * @param {number} difference  bytes
 */
function moreOf(rows, difference) {
  const quantised = rows.filter(({ dtype, tiedTo }) => /^q[48]_0$/.test(dtype) && !tiedTo);
  const scales = quantised.reduce((sum, { count }) => sum + (SCALE * count) / BLOCK, 0);
  return difference > 0 ? { scales: Math.min(scales, difference), panels: Math.max(0, difference - scales) } : null;
}

/**
 * What memory holds now, null where nothing is loaded.
 * @param {Readonly<import('../../state/store/state.js').State>} page
 * @param {import('../../state/calls/page_calls.js').Calls} calls
 */
export function mapOf({ engine: { model, memory }, text: { tokens, sourceTokens } }, { costAt }) {
  if (!model || !memory) return null;
  const actual = (/** @type {string} */ name) =>
    memory.regions.find((/** @type {{ name: string }} */ region) => region.name === name).bytes;
  const filled = cached({ tokens, sourceTokens, kind: model.config.kind }, costAt(1).kvBytes, actual('kv cache'));
  return {
    total: memory.totalBytes,
    more: moreOf(model.parameters.rows, actual('weights') - model.parameters.bytes),
    pieces: piecesOf(memory.regions, filled),
    rows: [
      [say`Weights`, int(model.parameters.bytes), int(actual('weights'))],
      [
        say`kv cache of ${filled.words}`,
        int(filled.bytes),
        actual('kv cache')
          ? MEMORY.room(actual('kv cache'), Math.floor(actual('kv cache') / costAt(1).kvBytes))
          : say`not allocated`,
      ],
      [say`Total`, '', int(memory.totalBytes)],
    ],
  };
}

/**
 * @param {{ name: string, bytes: number }[]} regions
 * @param {{ bytes: number, words: string }} filled  part of the kv cache
 * @returns {Piece[]} in order of address, without empty ones
 */
export function piecesOf(regions, filled) {
  return regions
    .flatMap(({ name, bytes }) => {
      if (name !== 'kv cache') return [{ kind: REGIONS[name][0], name: REGIONS[name][1], bytes }];
      const used = Math.min(bytes, filled.bytes);
      return [
        { name: say`kv cache, ${filled.words}`, kind: 'kv', bytes: used },
        { name: say`kv cache, free`, kind: 'kv-free', bytes: bytes - used },
      ];
    })
    .filter((piece) => piece.bytes > 0);
}
