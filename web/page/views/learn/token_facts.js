// token_facts.js - the numbers of the chosen token in one pass, for the pages of the textbook
import { hasExperts, windowOf } from '../../state/facts/architecture.js';
import { blockPoint } from '../../state/facts/hook_points.js';
import { probabilities } from './prediction.js';

/** @typedef {{ data: Float32Array, shape: number[] }} Tensor */

/**
 * Reads them from a text that rests.
 * @param {{ page: Readonly<import('../../state/store/state.js').State>, set: (patch: any) => void, calls: any }} context
 * @returns null: there is no text
 */
export async function readFacts({ page, set, calls }) {
  await calls.wantRows();
  const { model } = page.engine,
    { tokens } = page.text,
    { head, patterns } = page.attention;
  if (!model || !tokens.length) return null;
  const position = Math.max(0, page.text.cursor);
  set({ text: { cursor: position, follow: false } });
  const points = pointsOf(model.config, head.layer);
  const captured = await calls.values(Object.values(points));
  await calls.wantLogits(position);
  const logits = page.text.logits.get(position);
  const best = logits ? probabilities(logits, []).best : null;
  if (best) await calls.spell([best.id]);
  const next = tokens[position + 1],
    row = patterns?.row(head.layer, head.head, position) ?? null;
  return {
    config: model.config,
    token: tokens[position],
    position,
    ...head,
    ...valuesOf(captured, points, position),
    attended: attendedMost(row, tokens, 2),
    keys: Math.min(row?.length ?? position + 1, windowOf(model.config, head.layer) || Infinity),
    best: best && logits ? { ...best, logit: logits[best.id], text: page.text.words.get(best.id) ?? '' } : null,
    sampler: page.sampler,
    drawn: next ? { id: next.id, text: next.text, p: next.logprob === null ? null : Math.exp(next.logprob) } : null,
  };
}

/** Points whose values are told, by name. */
export function pointsOf(config, layer) {
  const block = blockPoint(config, layer);
  const stack = config.kind === 'encoder_decoder' ? 'decoder.' : '';
  return {
    embed: `${stack}hook_embed`,
    pre: `${block}.hook_resid_pre`,
    normalized: `${block}.ln1.hook_normalized`,
    mid: `${block}.hook_resid_mid`,
    ...(hasExperts(config, layer) ? {} : { active: `${block}.mlp.hook_post` }),
    post: `${block}.hook_resid_post`,
    last: `${blockPoint(config, config.nLayers - 1)}.hook_resid_post`,
  };
}

/** @param {Tensor | undefined} tensor  [position, n] */
function rowOf(tensor, position) {
  if (!tensor) return null;
  const [n, size] = tensor.shape;
  return position < n ? tensor.data.subarray(position * size, (position + 1) * size) : null;
}

const norm = (/** @type {Float32Array | null} */ row) => row && Math.hypot(...row);

/**
 * @param {Record<string, Tensor>} captured  by point
 * @param {ReturnType<typeof pointsOf>} points
 */
export function valuesOf(captured, points, position) {
  const row = (/** @type {string} */ name) => rowOf(captured[points[name] ?? ''], position);
  const [embed, active] = [row('embed'), row('active')];
  return {
    embedding: embed && [Math.min(...embed), Math.max(...embed)],
    active: active && [active.reduce((n, x) => n + Number(x > 0), 0), active.length],
    norms: Object.fromEntries(['pre', 'normalized', 'mid', 'post', 'last'].map((name) => [name, norm(row(name))])),
  };
}

/**
 * The keys that get most of a row of attention weights.
 * @param {Float32Array | null} row
 * @param {import('../../state/facts/special_tokens.js').Written[]} keys
 * @param {number} n  at most
 */
export function attendedMost(row, keys, n) {
  if (!row) return [];
  return [...row.keys()]
    .sort((a, b) => row[b] - row[a])
    .slice(0, n)
    .map((at) => ({ ...keys[at], weight: row[at] }));
}
