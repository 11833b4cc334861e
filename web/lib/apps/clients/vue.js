// vue.js - the entry glassformer/vue: composables that load a model, generate and chat with it
import { onScopeDispose, shallowRef, toValue, watch } from 'vue';
import { load } from '../../api/index.js';
import { ChatRun, chatState } from './chat_run.js';
import { isSameSource } from './same_source.js';

/** @import { MaybeRefOrGetter, ShallowRef } from 'vue' */
/** @import { LoadOptions, Progress, Source, Summary } from '../../api/index.js' */
/** @import { Message } from '../../api/call_types.js' */
/** @import { Model } from '../../api/model.js' */
/** @import { ChatOptions, ChatState } from './chat_run.js' */
/**
 * What useModel returns: while it loads, model and error are null.
 * @typedef {{model: ShallowRef<Model | null>, progress: ShallowRef<Progress | null>, error: ShallowRef<unknown>}}
 *   ModelRefs
 */
/**
 * What useChat returns. send: resolves to the summary of the answer, or to null when it was stopped or failed.
 * @typedef {{state: ShallowRef<ChatState>, send: (message: string | Message, options?: ChatOptions) =>
 *   Promise<Summary | null>, stop: () => void, setMessages: (messages: readonly Message[]) => void}} ChatRefs
 */

/**
 * Load a model. It is disposed when the component is unmounted or the source changes, and a load that runs is aborted.
 * @param {MaybeRefOrGetter<Source | null>} source  null: none
 * @param {Omit<LoadOptions, 'signal' | 'onProgress'>} [options]
 * @returns {ModelRefs}
 */
export function useModel(source, options) {
  const model = /** @type {ShallowRef<Model | null>} */ (shallowRef(null));
  const progress = /** @type {ShallowRef<Progress | null>} */ (shallowRef(null));
  const error = /** @type {ShallowRef<unknown>} */ (shallowRef(null));
  const from = shallowRef(toValue(source));
  watch(
    () => toValue(source),
    (next) => {
      if (!isSameSource(next, from.value)) from.value = next;
    },
  );
  watch(
    from,
    (given, _, onCleanup) => {
      model.value = progress.value = error.value = null;
      if (given === null) return;
      const controller = new AbortController();
      const { signal } = controller;
      /** @type {Model | null} */
      let own = null;
      onCleanup(() => {
        controller.abort();
        own?.dispose();
      });
      const onProgress = (/** @type {Progress} */ told) => {
        if (!signal.aborted) progress.value = told;
      };
      load(given, { ...options, signal, onProgress }).then(
        (loaded) => {
          if (signal.aborted) return loaded.dispose();
          model.value = own = loaded;
        },
        (cause) => {
          if (!signal.aborted) error.value = cause;
        },
      );
    },
    { immediate: true },
  );
  return { model, progress, error };
}

/**
 * A conversation with a model. An answer that is written ends when the component is unmounted or the model changes.
 * @param {MaybeRefOrGetter<Model | null>} model
 * @param {ChatOptions & {messages?: readonly Message[]}} [options]  messages: with which it begins
 * @returns {ChatRefs}
 */
export function useChat(model, { messages, ...options } = {}) {
  const state = shallowRef(chatState(messages));
  const run = new ChatRun(state.value, (next) => {
    state.value = next;
  });
  const stop = () => run.stop();
  watch(
    () => toValue(model),
    (_, before) => run.stop(before),
  );
  onScopeDispose(stop);
  return {
    state,
    send: (message, more) => run.send(toValue(model), message, { ...options, ...more }),
    stop,
    setMessages: (given) => run.setMessages(given),
  };
}
