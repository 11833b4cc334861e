// react.js - the entry glassformer/react: hooks that load a model, generate and chat with it
import { useCallback, useEffect, useRef, useState } from 'react';
import { load } from '../../api/index.js';
import { ChatRun, chatState } from './chat_run.js';
import { isSameSource } from './same_source.js';

/** @import { LoadOptions, Progress, Source, Summary } from '../../api/index.js' */
/** @import { Message } from '../../api/call_types.js' */
/** @import { Model } from '../../api/model.js' */
/** @import { ChatOptions, ChatState } from './chat_run.js' */
/**
 * What useModel returns: while it loads, model and error are null.
 * @typedef {{model: Model | null, progress: Progress | null, error: unknown}} ModelState
 */
/**
 * What useGeneration returns. generate: begins with a text or with the messages of a chat, and ends a generation that
 * runs; it resolves to the summary, or to null when it was stopped or failed. stop: ends it, the text stays.
 * @typedef {{text: string, running: boolean, summary: Summary | null, error: unknown, generate: Generate,
 *   stop: () => void}} GenerationState
 */
/**
 * What useChat returns. messages: the last one grows while it is written; running: whether it is; summary: of the last
 * answer; error: of the last one, null where it was stopped. send: begins an answer to a text or a message, and ends
 * one that is written; it resolves to the summary, or to null when it was stopped or failed. stop: ends it, its text
 * stays.
 * @typedef {ChatState & {send: (message: string | Message, options?: ChatOptions) => Promise<Summary | null>,
 *   stop: () => void, setMessages: (messages: readonly Message[]) => void}} ChatHook
 */
/** @typedef {string | Parameters<Model['chat']>[0]} Prompt */
/** @typedef {(prompt: Prompt, options?: Parameters<Model['chat']>[1]) => Promise<Summary | null>} Generate */

/** @type {ModelState} */
const LOADING = { model: null, progress: null, error: null };
const IDLE = {
  text: '',
  running: false,
  summary: /** @type {Summary | null} */ (null),
  error: /** @type {unknown} */ (null),
};

/**
 * Load a model. It is disposed when the component is removed or the source changes, and a load that runs is aborted.
 * @param {Source | null} source  null: none. Addresses, and parts that are addresses, may be new objects in each
 *   rendering; a File or bytes must be the same object
 * @param {Omit<LoadOptions, 'signal' | 'onProgress'>} [options]  read when the load begins
 * @returns {ModelState}
 */
export function useModel(source, options) {
  const [state, setState] = useState(LOADING);
  const latest = useRef(options);
  latest.current = options;
  const kept = useRef(source);
  if (!isSameSource(kept.current, source)) kept.current = source;
  const from = kept.current;
  useEffect(() => {
    setState(LOADING);
    if (from === null) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    /** @type {Model | null} */
    let own = null;
    const onProgress = (/** @type {Progress} */ progress) => {
      if (!signal.aborted) setState((before) => ({ ...before, progress }));
    };
    load(from, { ...latest.current, signal, onProgress }).then(
      (model) => {
        if (signal.aborted) return model.dispose();
        own = model;
        setState((before) => ({ ...before, model }));
      },
      (error) => {
        if (!signal.aborted) setState({ ...LOADING, error });
      },
    );
    return () => {
      controller.abort();
      own?.dispose();
    };
  }, [from]);
  return state;
}

/**
 * Generate with a model. The generation ends when the component is removed or the model changes.
 * @param {Model | null} model
 * @returns {GenerationState}
 */
export function useGeneration(model) {
  const [state, setState] = useState(IDLE);
  const running = useRef(/** @type {{controller: AbortController, of: Model} | null} */ (null));
  const stop = useCallback(() => running.current?.controller.abort(), []);
  useEffect(
    // it may run after generate was called with the next model: React runs effects after it has rendered
    () => () => {
      if (running.current?.of === model) stop();
    },
    [model, stop],
  );
  const generate = useCallback(
    async (/** @type {Prompt} */ prompt, /** @type {Parameters<Model['chat']>[1]} */ options = {}) => {
      if (!model) throw new TypeError('useGeneration: the model is not loaded yet');
      stop();
      const controller = new AbortController();
      running.current = { controller, of: model };
      const update = (/** @type {Partial<typeof IDLE>} */ more) => {
        if (running.current?.controller === controller) setState((before) => ({ ...before, ...more }));
      };
      const signals = [controller.signal, ...(options.signal ? [options.signal] : [])];
      const all = { ...options, signal: AbortSignal.any(signals) };
      update({ ...IDLE, running: true });
      let text = '';
      try {
        const steps = typeof prompt === 'string' ? model.generate(prompt, all) : model.chat(prompt, all);
        for await (const step of steps) update({ text: (text += step.content ?? step.text) });
        const summary = await steps.result;
        update({ summary, text: summary.content ?? summary.text, running: false });
        return summary;
      } catch (error) {
        update({ running: false, error: all.signal.aborted ? null : error });
        return null;
      }
    },
    [model, stop],
  );
  return { ...state, generate, stop };
}

/**
 * A conversation with a model. An answer that is written ends when the component is removed or the model changes.
 * @param {Model | null} model
 * @param {ChatOptions & {messages?: readonly Message[]}} [options]  read when a message is sent; messages: with which
 *   the conversation begins
 * @returns {ChatHook}
 */
export function useChat(model, options = {}) {
  const { messages, ...given } = options;
  const [state, setState] = useState(() => chatState(messages));
  const kept = useRef(/** @type {ChatRun | null} */ (null));
  const run = (kept.current ??= new ChatRun(state, setState));
  const latest = useRef(given);
  latest.current = given;
  const stop = useCallback(() => run.stop(), [run]);
  useEffect(() => () => run.stop(model), [model, run]); // a model may have begun to answer before the effect
  const send = useCallback(
    (/** @type {string | Message} */ message, /** @type {ChatOptions} */ more = {}) =>
      run.send(model, message, { ...latest.current, ...more }),
    [model, run],
  );
  const setMessages = useCallback((/** @type {readonly Message[]} */ list) => run.setMessages(list), [run]);
  return { ...state, send, stop, setMessages };
}
