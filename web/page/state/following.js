// following.js - brings the page to the state that its address asks for, once the model is loaded
import { inView } from './patterns.js';
import { partOf } from './switches.js';

/**
 * Bring the loaded page to the state that the address asked for. Its text goes on from its own prompt, not from one that
 * was typed meanwhile.
 * @param {ReturnType<typeof import('./address.js').readAddress>} asked
 * @param {import('./store.js').Store} store
 * @param {import('./run.js').Run} run
 */
export async function follow(asked, store, run) {
  const { state } = store,
    { model } = state;
  if (!model) return;
  const { prompt = state.prompt, source = state.source } = asked.opens;
  if (prompt !== state.prompt || source !== state.source)
    asked = { ...asked, ids: null, written: undefined, at: undefined, sourceAt: undefined, key: undefined };
  if (asked.ids?.length) await run.restore(asked.ids, asked.kept || undefined);
  else if (asked.written) {
    const { pace, maxTokens } = state;
    store.set({ pace: 'fast', maxTokens: asked.written });
    await run.run();
    const paused = state.stopReason === 'maxTokens' ? { status: /** @type {const} */ ('paused'), stopReason: '' } : {};
    store.set({ pace, maxTokens, ...paused }); // the limit was that of the address
  }
  if (state.model !== model) return; // another was chosen
  /** @type {any} */
  const patch = {};
  if (asked.stack && model.config.kind === 'encoder_decoder') patch.stack = asked.stack;
  const { layers, keys } = inView({ ...state, ...patch }); // of that stack
  if (asked.head && asked.head[0] < layers && asked.head[1] < model.config.nHeads)
    patch.head = { layer: asked.head[0], head: asked.head[1] };
  if (asked.stage) patch.stage = asked.stage;
  if (asked.zoom) patch.zoom = asked.zoom;
  const off = asked.off.filter((key) => partOf(model.config, key));
  if (off.length) patch.off = off;
  if (asked.at !== undefined && asked.at < state.tokens.length)
    Object.assign(patch, { cursor: asked.at, follow: false });
  if (asked.sourceAt !== undefined && asked.sourceAt < state.sourceTokens.length) patch.sourceCursor = asked.sourceAt;
  if (asked.key !== undefined && asked.key < keys.length) patch.key = asked.key;
  if (Object.keys(patch).length) store.set(patch);
}
