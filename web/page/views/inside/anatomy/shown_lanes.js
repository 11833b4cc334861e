// shown_lanes.js - the part of the text that the picture of a forward pass shows: tokens that have lanes, the strength
// of each ribbon and dot, the most likely next tokens. Layout: web/draw/anatomy_*.js
import { sum } from 'd3-array';
import { KEYS, BARS } from '../../../../draw/anatomy_geometry.js';
import { shade } from '../../../../draw/heatmap.js';
import { hasTwoStacks } from '../../../state/facts/architecture.js';
import { following } from '../../../state/facts/token_probabilities.js';
import { label, percent } from '../../../text/format.js';
import { wordOf } from '../../write/candidates.js';

/** @typedef {import('../../../state/store/state.js').State} State */
/** What the picture shows of it. @typedef {Pick<State, 'text' | 'sampler' | 'attention'> & { engine: Pick<State['engine'], 'model'> }} Shown */
/** @typedef {ReturnType<typeof frameOf>} Frame */

/** The layer that is drawn: the encoder, whose heads may be shown, can have more. @param {Pick<Shown, 'attention' | 'engine'>} s */
export const layerOf = ({ attention, engine }) =>
  Math.min(attention.head.layer, (engine.model?.config.nLayers ?? 1) - 1);
/** The head that is drawn, likewise. @param {Pick<Shown, 'attention' | 'engine'>} s */
export const headOf = ({ attention, engine }) => Math.min(attention.head.head, (engine.model?.config.nHeads ?? 1) - 1);

/** Opacity of a weight. @param {number} weight */
const opacity = (weight) => Number((0.06 + 0.94 * (shade(weight) / 255)).toFixed(3));
const clip = (/** @type {string} */ text, /** @type {number} */ letters) =>
  text.length > letters ? `${text.slice(0, letters - 1)}…` : text;

/**
 * Which positions have lanes: the last ones up to the one after the selected token.
 * @param {Shown} s
 * @param {number} most
 */
export function lanesOf(s, most) {
  const { tokens, cursor } = s.text;
  if (!tokens.length) return { first: 0, count: 0 };
  const known = Math.min(tokens.length, Math.max(s.attention.patterns?.known(layerOf(s)) ?? 0, 1));
  const last = Math.min(known - 1, Math.max(cursor, most - 1));
  const first = Math.max(0, last - most + 1);
  return { first, count: last - first + 1 };
}

/**
 * @param {Shown} s
 * @param {number} most     lanes
 * @param {{ letters: number, words: number }} room  for labels and next tokens, see Picture
 */
export function frameOf(s, most, { letters, words }) {
  const { first, count } = lanesOf(s, most);
  const layer = layerOf(s);
  const own = s.attention.stack === 'self';
  const here = ((own ? s.attention.hover?.query : null) ?? s.text.cursor) - first;
  const seen = own ? (s.attention.hover ? s.attention.hover.key : s.attention.key) : null;
  const row = s.attention.patterns?.row(layer, headOf(s), first + here) ?? null;
  const visible = here >= 0 && here < count;
  let before = sum(row?.subarray(0, first) ?? []); // the weights before a lane's
  const lanes = Array.from({ length: count }, (_, i) => {
    const weight = row?.[first + i] ?? 0;
    const at = -8 + 16 * (before + weight / 2);
    before += weight;
    return {
      text: clip(label(s.text.tokens[first + i]), letters),
      here: i === here, // the selected token
      seen: first + i === seen, // the selected key
      /** Opacity of its key and value, by the weight that the selected token gives them. */
      strength: row ? Number((0.1 + 0.6 * Math.sqrt(weight)).toFixed(2)) : 0.16,
      /** Its value on the way into the selected lane. */
      mix:
        row && visible && weight > 0
          ? { at, size: Math.max(0.6, 16 * weight), opacity: Number((0.12 + 0.55 * Math.sqrt(weight)).toFixed(2)) }
          : null,
    };
  });
  return {
    first, // position of the first lane
    here, // lane of the selected token; it may lie outside
    lanes,
    ...patternOf(s, layer, first, count),
    cross: crossOf(s, layer, first, count),
    bars: barsOf(s, words),
  };
}

/**
 * The head's weights as opacities: `dots` by query and key, of a causal pattern without the masked keys; `early` of the
 * sum of the keys before the lanes, by query.
 * @param {Shown} s @param {number} layer @param {number} first @param {number} count
 */
function patternOf(s, layer, first, count) {
  const causal = s.engine.model?.config.causal;
  /** @type {number[][]} */
  const dots = [];
  const early = [];
  for (let q = 0; q < count; q++) {
    const row = s.attention.patterns?.row(layer, headOf(s), first + q) ?? null;
    early.push(first ? opacity(sum(row?.subarray(0, first) ?? [])) : 0);
    dots.push(Array.from({ length: causal ? q + 1 : count }, (_, k) => opacity(row?.[first + k] ?? 0)));
  }
  return { dots, early };
}

/** Opacities of the weights of cross-attention; from: position of the first key.
 * @param {Shown} s @param {number} layer @param {number} first @param {number} count */
function crossOf(s, layer, first, count) {
  if (!hasTwoStacks(s.engine.model?.config ?? {})) return null;
  const { length } = s.text.sourceTokens,
    keys = Math.min(KEYS, length),
    from = length - keys;
  const dots = Array.from({ length: count }, (_, q) => {
    const weights = s.attention.otherPatterns?.cross?.row(layer, headOf(s), first + q);
    return Array.from({ length: keys }, (__, k) => opacity(weights?.[from + k] ?? 0));
  });
  return { from, dots };
}

/** The model's probabilities after the selected token, the largest first. @param {Shown} s @param {number} letters */
function barsOf(s, letters) {
  const drawn = s.text.tokens[s.text.cursor + 1];
  const candidates = following(s, BARS)?.candidates ?? [];
  const most = Math.max(...candidates.map((c) => c.model), 1e-9);
  return candidates.map((candidate, index) => ({
    index,
    id: candidate.id,
    word: clip(wordOf(candidate, s.text.words), letters),
    weight: candidate.model,
    share: candidate.model / most,
    percent: percent(candidate.model),
    on: drawn?.id === candidate.id,
  }));
}
