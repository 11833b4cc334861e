// deltas.js - the caller's side of an adapter for a model that is loaded
import { guardedAsync } from '../../base/errors.js';
import { checkedOptions, number, signal as abortSignal } from '../../base/checks.js';
import { readAdapters } from './adapters.js';

/**
 * What an adapter adds to the modules of a model.
 * @param {'addAdapter' | 'modules'} call  modules: nothing without a source
 * @param {any} source
 * @param {any} options  scale, signal
 * @param {typeof import('../../api/input/load_options.js').loadOptions} loadOptions  handed over, because a module that
 *   the core imports, too, would be a file of its own, and the first load of a page larger
 */
export async function deltasOf(call, source, options, loadOptions) {
  const { scale, signal } = checkedOptions(call, options, { scale: number, signal: abortSignal });
  if (call === 'modules' && source === undefined) return [];
  const { adapters } = loadOptions('load', { adapters: [{ source, scale }] });
  return guardedAsync(() => readAdapters(adapters, { signal }), signal);
}
