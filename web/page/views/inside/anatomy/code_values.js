// code_values.js - the values of a pass that are written behind lines of src/reference/decoder.c
import { blockPoint } from '../../../state/facts/hook_points.js';
import { figures } from '../../../text/format.js';

/**
 * By stage: a piece of the line, what it assigns, and the capture point that has it, `block.` before those of the layer.
 * @type {Record<string, [line: string, name: string, point: string][]>}
 */
const LINES = {
  embed: [['p->x[t * d + i] =', 'x[t]', 'blocks.0.hook_resid_pre']],
  norm1: [
    ['const double *x =', 'x', 'block.hook_resid_pre'],
    ['p->a[t * d + i] =', '(x - mean) / size', 'block.ln1.hook_normalized'],
  ],
  qkv: [
    ['linear(p, p->qkv', 'q of the head', 'block.attn.hook_q'],
    ['*other = x', 'q of the head, rotated', 'block.attn.hook_rot_q'],
  ],
  heads: [
    ['const double *q =', 'q', 'block.attn.hook_rot_q'],
    ['const double *q =', 'q', 'block.attn.hook_q'], // where nothing is rotated
    ['p->pattern[s] = score', 'scores', 'block.attn.hook_attn_scores'],
    ['p->pattern[s] /= sum', 'pattern', 'block.attn.hook_pattern'],
    ['z[i] += ', 'z', 'block.attn.hook_z'],
  ],
  out: [
    ['linear(p, p->y', 'y[t]', 'block.hook_attn_out'],
    ['add(p);', 'x[t]', 'block.hook_resid_mid'],
  ],
  norm2: [
    ['const double *x =', 'x', 'block.hook_resid_mid'],
    ['p->a[t * d + i] =', '(x - mean) / size', 'block.ln2.hook_normalized'],
  ],
  ffn: [
    ['linear(p, p->hidden', 'act(…) of', 'block.mlp.hook_pre'],
    ['p->hidden[i] = activate', 'hidden[t]', 'block.mlp.hook_post'],
    ['linear(p, p->y', 'y[t]', 'block.hook_mlp_out'],
  ],
  resid: [['    add(p);', 'x[t]', 'block.hook_resid_post']],
  final: [['p->a[t * d + i] =', '(x - mean) / size', 'ln_final.hook_normalized']],
};
const FIRST = 4; // numbers that are written

const pointOf = (/** @type {any} */ c, /** @type {number} */ layer, /** @type {string} */ name) =>
  name.replace(/^block(?=\.)/, blockPoint(c, layer));

/** @param {string} stage @param {any} c @param {number} layer */
export const pointsOfCode = (stage, c, layer) => (LINES[stage] ?? []).map(([, , name]) => pointOf(c, layer, name));

/** The numbers of one position, of heads those of one. @param {import('../../../../draw/strip_painter.js').Tensor} tensor @param {{ position: number, head: number }} at @param {boolean} keyed  [head, query, key] */
function rowOf({ data, shape }, { position, head }, keyed) {
  const own = shape.at(-1) ?? 1;
  const row = keyed ? head * shape[1] + position : shape.length > 2 ? position * shape[1] + head : position;
  return data.subarray(row * own, (row + 1) * own);
}

/**
 * @param {string} stage
 * @param {any} c  configuration
 * @param {{ layer: number, position: number, head: number }} at
 * @param {Record<string, import('../../../../draw/strip_painter.js').Tensor>} captured  by point
 * @param {Pick<import('../../../state/store/state.js').State['text'], 'logits'>} text
 * @returns {import('./reference_code.js').Value[]}
 */
export function valuesOfCode(stage, c, at, captured, { logits }) {
  const says = (/** @type {string} */ name, /** @type {ArrayLike<number>} */ row) =>
    `  // ${name} = ${Array.from(row).slice(0, FIRST).map(figures).join(', ')}${row.length > FIRST ? ', …' : ''}`;
  const values = (LINES[stage] ?? []).flatMap(([line, name, point]) => {
    const tensor = captured[pointOf(c, at.layer, point)];
    const keyed = /scores|pattern/.test(point);
    if (!tensor || at.position >= tensor.shape[keyed ? 1 : 0]) return [];
    const row = rowOf(tensor, at, keyed);
    return [{ in: line, says: says(name, keyed ? row.subarray(0, at.position + 1) : row) }];
  });
  const row = stage === 'head' ? logits.get(at.position) : undefined;
  return row ? [...values, { in: 'linear(&p, logits', says: says('logits', row) }] : values;
}
