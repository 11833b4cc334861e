// open_address.js - brings the page to the state that its address asks for, once the model is loaded
import { shownAttention } from '../calls/shown_attention.js';
import { partOf } from '../facts/switchable_parts.js';

/**
 * Write the text that was asked for.
 * @param {ReturnType<typeof import('./address.js').readAddress>} asked
 * @param {import('../store/store.js').Store} store
 * @param {import('../calls/page_calls.js').Calls} calls
 */
async function writeAgain({ ids, kept, written }, { state, set }, calls) {
  if (ids?.length) return calls.restore(ids, kept || undefined);
  if (!written) return;
  const { pace, maxTokens } = state.engine;
  set({ engine: { pace: 'fast', maxTokens: written } });
  await calls.write(true);
  set({ engine: { pace, maxTokens } });
  if (state.engine.stopReason === 'maxTokens') set({ engine: { status: 'paused', stopReason: '' } }); // that limit was the address's
}

/**
 * Bring the loaded page to the state that the address asked for. Its text goes on from its own prompt, not from one that
 * was typed meanwhile.
 * @param {ReturnType<typeof import('./address.js').readAddress>} asked
 * @param {import('../store/store.js').Store} store
 * @param {import('../calls/page_calls.js').Calls} calls
 */
export async function followAddress(asked, store, calls) {
  const { state } = store,
    { model } = state.engine;
  if (!model) return;
  const { prompt = state.text.prompt, source = state.text.source } = asked.opens;
  if (prompt !== state.text.prompt || source !== state.text.source)
    asked = { ...asked, ids: null, written: undefined, at: undefined, sourceAt: undefined, key: undefined };
  await writeAgain(asked, store, calls);
  if (state.engine.model !== model) return; // another was chosen
  const { head, at, sourceAt, key, form, zoom } = asked;
  const stack = asked.stack && model.config.kind === 'encoder_decoder' ? asked.stack : state.attention.stack;
  const { layers, heads, keys } = shownAttention({ ...state, attention: { ...state.attention, stack } });
  const off = asked.off.filter((part) => partOf(model.config, part));
  /** @type {Partial<import('../store/state.js').State['attention']>} */
  const attention = {};
  if (stack !== state.attention.stack) attention.stack = stack;
  if (head && head[0] < layers && head[1] < heads) attention.head = { layer: head[0], head: head[1] };
  if (form) attention.form = form;
  if (zoom) attention.zoom = zoom;
  if (off.length) attention.off = off;
  if (key !== undefined && key < keys.length) attention.key = key;
  store.set({
    text: {
      ...(at !== undefined && at < state.text.tokens.length && { cursor: at, follow: false }),
      ...(sourceAt !== undefined && sourceAt < state.text.sourceTokens.length && { sourceCursor: sourceAt }),
    },
    attention,
    ...(!partOf(model.config, state.view.unit) && { view: { unit: '' } }),
  });
}
