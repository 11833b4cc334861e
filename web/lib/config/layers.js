// layers.js - fields that readers of files compute: flags of the layers, the most positions

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

/** How many times what its factor is made for a model with dynamic frequencies may hold: these fit any length. */
const DYNAMIC_ROOM = 16;

/**
 * The most positions of a model, which some scalings extend beyond max_position_embeddings.
 * @param {Record<string, any>} fields  of a configuration, with rope_scaling
 * @param {Record<string, any>} json  with the keys of a config.json
 * @returns {any}
 */
export function contextLength({ context_length: own, rope_scaling: type, rope_factor: by, ...fields }, json) {
  const s = json.rope_scaling ?? json.rope_parameters ?? {};
  const original = fields.rope_original_context;
  const factor = type === 'longrope' ? (json.original_max_position_embeddings ? 1 : (s.factor ?? 1)) : by;
  const times = { yarn: 1, longrope: 1, dynamic: DYNAMIC_ROOM }[/** @type {string} */ (type)];
  const extended = times && Math.floor(times * factor * original);
  return extended && Number.isInteger(own) ? Math.min(Math.max(own, extended), 2 ** 31 - 1) : own;
}
