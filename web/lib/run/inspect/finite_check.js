// finite_check.js - results of a pass that hold NaN or infinity are an error, which names the first point that does
import { readCapture, setCapture } from '../../engine/engine_captures.js';
import { fail } from '../../base/errors.js';

/** @import { Tensor } from '../../engine/engine.js' */
/** @import { EngineSession } from '../../engine/engine_session.js' */
/** @import { Sequence } from '../sequence.js' */

/** Axes of the points that are read to find the first one: those of rows, without the results of single heads. */
const AXES = 'DNFQKE1';

/**
 * The index of the first value that is NaN or infinite; -1 where all are finite. A loop, because findIndex calls a
 * function for each value: a tenth of the time of a pass whose logits it reads.
 * @param {Float32Array} data
 * @param {boolean} [masked]  whether -Infinity stands for a cell that is masked
 */
function firstIn(data, masked) {
  for (let i = 0; i < data.length; i++) if (data[i] - data[i] !== 0 && !(masked && data[i] === -Infinity)) return i;
  return -1;
}

/**
 * Throws `not-finite` when a result holds NaN or infinity. The pass is then repeated, to find where they began.
 * @param {Sequence} sequence
 * @param {Record<string, Tensor | undefined>} results  by name
 * @param {ArrayLike<number>} ids  of the pass, from the first position on
 * @param {(session: EngineSession) => void} [encode]  the pass of an encoder
 */
export async function requireFinite(sequence, results, ids, encode) {
  const bad = Object.keys(results).find(
    (name) => results[name] && firstIn(results[name].data, /scores/.test(name)) >= 0,
  );
  if (bad === undefined) return;
  const where = (await firstPoint(sequence, Array.from(ids), encode)) ?? bad;
  fail(
    'not-finite',
    `${where}: NaN or infinity: weights or edits are too large, or the file is damaged; allowNonFinite returns them`,
  );
}

/**
 * The first point that holds NaN or infinity, with its position; null where only logits or scores do.
 * @param {Sequence} sequence
 * @param {number[]} ids
 * @param {(session: EngineSession) => void} [encode]
 */
async function firstPoint(sequence, ids, encode) {
  const points = (await sequence.model.points()).inOrder.filter((p) => AXES.includes(p.axes));
  const { chunk } = sequence.model.engine.schema;
  const copy = sequence.fork();
  try {
    const { session } = copy;
    if (!encode) session.rewind(0);
    for (const p of points) setCapture(session, p, true);
    for (let at = 0; at < ids.length; at += encode ? ids.length : chunk) {
      if (encode) encode(session);
      else session.eval(ids.slice(at, at + chunk));
      for (const p of points) {
        const values = readCapture(session, p);
        const i = values ? firstIn(values.data) : -1;
        if (values && i >= 0)
          return `${p.name} at position ${at + Math.floor(i / (values.data.length / values.dims[0]))}`;
      }
    }
    return null;
  } finally {
    copy.close();
  }
}
