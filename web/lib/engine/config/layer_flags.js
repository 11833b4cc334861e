// layer_flags.js - fields that readers of files compute: flags of the layers, the most positions

/** Most layers of a model, as FIELDS of config_fields.js has it. */
export const MAX_LAYERS = 4096;

/**
 * A list with a flag for each layer, as a configuration has it: its shortest repetition, and [] where all are true.
 * @param {boolean[]} flags
 */
export function repeating(flags) {
  if (flags.every(Boolean)) return [];
  if (flags.length > MAX_LAYERS) return flags; // which is refused
  let n = 1;
  while (!flags.every((flag, i) => flag === flags[i % n])) n++;
  return flags.slice(0, n);
}

/**
 * One value for each layer.
 * @template T
 * @param {unknown} layers  their number
 * @param {(layer: number) => T} of
 * @returns {T[]}
 */
export const eachLayer = (layers, of) =>
  Array.from({ length: Number.isInteger(layers) && Number(layers) <= MAX_LAYERS ? Number(layers) : 0 }, (_, l) =>
    of(l),
  );

/**
 * The fields of a sliding window in some of the layers.
 * @param {boolean[]} layers  one for each
 * @param {any} window
 */
export const windowFields = (layers, window) =>
  layers.some(Boolean) ? { sliding_window: window, window_layers: repeating(layers) } : { sliding_window: 0 };

/**
 * The most positions of a model whose scaling extends the original ones.
 * @param {any} own  most positions without it
 * @param {number} extended  with it; NaN: it extends none
 */
export const extendedContext = (own, extended) =>
  extended && Number.isInteger(own) ? Math.min(Math.max(own, Math.floor(extended)), 2 ** 31 - 1) : own;
