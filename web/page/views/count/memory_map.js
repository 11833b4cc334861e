// memory_map.js - the regions of linear memory, with the kv cache divided into what is filled and what is free

/** @typedef {{ name: string, kind: string, bytes: number }} Piece  kind: its class in style/count.css */

/**
 * Regions that the library's map names, in order of address, one behind the other.
 * @type {Record<string, string>}
 */
const KIND = { 'constants and stack': 'base', weights: 'weights', 'kv cache': 'kv', scratch: 'scratch', free: 'free' };

/**
 * Positions whose keys and values are cached: of the text, and for cross-attention of the source. Half of an
 * encoder-decoder's attentions keep each.
 * @param {Pick<import('../../state/state.js').State['text'], 'tokens' | 'sourceTokens'> & { kind: string }} text
 * @param {number} bytesPerPosition  if every attention kept it
 */
export function cached({ tokens, sourceTokens, kind }, bytesPerPosition) {
  const two = kind === 'encoder_decoder';
  const positions = two ? (tokens.length + sourceTokens.length) / 2 : tokens.length;
  return {
    bytes: positions * bytesPerPosition,
    words: `${tokens.length} tokens${two ? ` and ${sourceTokens.length} of the source` : ''}`,
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
      const kind = KIND[name];
      if (kind !== 'kv') return [{ name, kind, bytes }];
      const used = Math.min(bytes, filled.bytes);
      return [
        { name: `${name}, ${filled.words}`, kind, bytes: used },
        { name: `${name}, free`, kind: 'kv-free', bytes: bytes - used },
      ];
    })
    .filter((piece) => piece.bytes > 0);
}
