// beam_tree.js - beam search step by step, as a tree of what each hypothesis was continued with. The same rules as those of the
// library's option `beams` without a length penalty.
import { likeliest } from '../../../draw/likelihood.js';

/**
 * A hypothesis with its last token. lives: it was among the best of its step. value: its score where it has ended.
 * @typedef {object} Node
 * @property {number} id
 * @property {number[]} ids       all tokens of the hypothesis
 * @property {number} probability of the last one
 * @property {number} sum         of the logarithms of probabilities
 * @property {boolean} ended
 * @property {Node[]} children
 */

/**
 * @param {(ids: number[]) => Promise<Float32Array>} logitsAfter  of the hypothesis with these tokens
 * @param {{ beams: number, most: number, eos: number[] }} how  most: tokens
 * @returns {Promise<{ root: Node, best: Node }>}
 */
export async function searchTree(logitsAfter, { beams, most, eos }) {
  /** @type {Node} */
  const root = { id: -1, ids: [], probability: 1, sum: 0, ended: false, children: [] };
  let alive = [root];
  /** @type {Node | null} */
  let best = null;
  for (let n = 1; n <= most && alive.length; n++) {
    const rows = await Promise.all(alive.map(({ ids }) => logitsAfter(ids)));
    const candidates = alive
      .flatMap((parent, i) =>
        likeliest(rows[i], beams + eos.length).map(({ id, model }) => ({
          parent,
          node: {
            ...{ id, ids: [...parent.ids, id], probability: model, sum: parent.sum + Math.log(model) },
            ...{ ended: eos.includes(id), children: /** @type {Node[]} */ ([]) },
          },
        })),
      )
      .sort((a, b) => b.node.sum - a.node.sum);
    alive = [];
    for (const [rank, { parent, node }] of candidates.entries()) {
      if (node.ended ? rank >= beams : alive.length >= beams) continue;
      if (best && node.sum <= best.sum) continue;
      parent.children.push(node);
      if (!node.ended) alive.push(node);
      else best = node;
    }
  }
  return { root, best: best ?? alive.reduce((a, b) => (b.sum > a.sum ? b : a), alive[0] ?? root) };
}

/** Whether one hypothesis is the beginning of another. @param {Node} node @param {Node} of */
export const leadsTo = (node, of) => node.ids.every((id, i) => of.ids[i] === id);

/**
 * Places of the nodes: a column for each step, a row for each end, the best first.
 * @param {Node} root
 * @param {Node} best
 * @returns {{ nodes: { node: Node, x: number, y: number, from: { x: number, y: number } | null }[], rows: number, columns: number }}
 */
export function layoutOf(root, best) {
  /** @type {ReturnType<typeof layoutOf>['nodes']} */
  const nodes = [];
  let [rows, columns] = [0, 0];
  /** @param {Node} node @param {{ x: number, y: number } | null} from */
  const put = (node, from) => {
    const place = { node, x: node.ids.length, y: rows, from };
    nodes.push(place);
    columns = Math.max(columns, place.x + 1);
    const rank = (/** @type {Node} */ child) => (leadsTo(child, best) ? Infinity : child.sum);
    for (const child of [...node.children].sort((a, b) => rank(b) - rank(a))) put(child, place);
    if (!node.children.length) rows++;
  };
  put(root, null);
  return { nodes, rows, columns };
}
