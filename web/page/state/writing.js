// writing.js - the text goes on: a generator of the library stays open at its end, and Run, Step and Stop only decide
// how often it is asked. Whatever changes the text's past or the sampler closes it.

import { breather, pause } from './breath.js';
import { PATTERN_BUDGET, capturedPoints } from './rows.js';
import { stepMs } from './speed.js';

const SPEED_MS = 50; // between two computations of the speed, at least
const READING_MS = 120; // per token: about 250 words a minute with tokens of three quarters of a word, a little faster

/**
 * @param {import('./shared.js').Shared} shared
 * @param {{ setPrompt: (prompt: string) => Promise<void>, rewind: () => void,
 *   rows: ReturnType<typeof import('./rows.js').createRows> }} parts
 */
export function createWriting(shared, { setPrompt, rewind, rows }) {
  const { state, set, model } = shared;
  let memoryAt = 0; // when the map of memory was last read
  let speedAt = 0; // when the speed was last computed

  function open() {
    const { sampler, tokens } = state;
    const left = shared.rows().bytes < PATTERN_BUDGET; // beyond it the text goes on unseen
    return (shared.generator = model().generate(
      tokens.map((t) => t.id),
      {
        ...shared.reads(),
        ...sampler,
        logprobs: Math.min(10, shared.inHand().config.vocabSize),
        ...(left ? { capture: capturedPoints(state) } : {}),
      },
    ));
  }

  /** The map of memory comes with answers, and a stream of tokens is not one: ask for something small. */
  function readMemory() {
    const api = model();
    void api.points().then(
      () => {
        if (api === model()) set({ memory: api.memory });
      },
      () => {},
    );
  }

  /**
   * Put a token that was generated at the end of the text.
   * @param {import('./shared.js').Step} value
   * @param {boolean} first  after the prompt: its time is not that of a step
   */
  function take(value, first) {
    const { tokens } = state;
    const patterns = shared.rows();
    const { captured } = value;
    if (captured) for (const p of [patterns, ...Object.values(state.otherPatterns ?? {})]) p.append(captured);
    tokens.push({
      id: value.id,
      text: value.text,
      given: false,
      logprob: /** @type {number} */ (value.logprob),
      top: value.top ?? null,
    });
    shared.engineMs += value.ms;
    if (!first) shared.recent.push(value.ms);
    if (shared.recent.length > 64) shared.recent.shift();
    set({
      tokens,
      patterns,
      ...(state.follow ? { cursor: tokens.length - 2, key: null } : {}),
    });
    const now = performance.now();
    if (now - speedAt < SPEED_MS) return; // for each token it would cost as much as the rest
    speedAt = now;
    measureSpeed();
  }

  /** The mean time of the newest steps. */
  function measureSpeed() {
    const ms = stepMs(shared.recent);
    if (ms) set({ speed: { ...state.speed, msPerToken: ms, tokensPerSecond: 1000 / ms } });
  }

  /** The generator has come to its end. @param {import('./shared.js').Summary} summary */
  function ended(summary) {
    shared.generator = null;
    measureSpeed();
    set({
      status: 'done',
      stopReason: summary.stopReason,
      speed: { ...state.speed, tokensPerSecond: summary.tokensPerSecond || state.speed.tokensPerSecond },
    });
  }

  /**
   * Ask the generator for one token.
   * @returns whether there was one
   */
  async function advance() {
    const mine = shared.turn;
    const written = state.tokens.filter((t) => !t.given).length;
    if (written >= state.maxTokens) {
      // counted here: the limit may be moved while a generator is open
      void shared.close();
      measureSpeed();
      set({ status: 'done', stopReason: 'maxTokens' });
      return false;
    }
    const source = shared.generator ?? open();
    const answer = await source.next().catch((/** @type {unknown} */ error) => {
      if (source !== shared.generator) return null; // nobody waits for it any more
      shared.generator = null;
      throw error;
    });
    if (!answer || mine !== shared.turn || source !== shared.generator) return false;
    if (answer.done) {
      ended(answer.value);
      return false;
    }
    const now = performance.now();
    if (now - memoryAt > 200) {
      memoryAt = now;
      readMemory();
    }
    take(answer.value, !written);
    void rows.readShown();
    return true;
  }

  /** The prompt is there to be written on; one that could not be read is tried again, which tells why. */
  async function begun() {
    await shared.reading;
    if (shared.unread) await setPrompt(state.prompt);
  }

  const mayWrite = () => !shared.running && !shared.unread && !!state.model && state.model.config.kind !== 'encoder';
  const stepwise = () => state.pace === 'step';

  /** A new reader of the generator. @returns its number */
  function started() {
    const mine = ++shared.loops;
    shared.running = true;
    set({ status: 'running', error: '', stopReason: '', follow: true });
    return mine;
  }
  function rested() {
    shared.running = false;
    if (state.status !== 'running') return;
    measureSpeed();
    set({ status: 'paused' });
  }

  /** Write on until something stops it. A text that has ended starts again from its prompt. */
  async function run() {
    await begun();
    if (!mayWrite()) return;
    if (stepwise()) return step();
    if (state.status === 'done') rewind();
    const mine = started();
    const start = performance.now();
    const before = shared.engineMs;
    try {
      let due = start;
      const rest = breather();
      while (shared.running && mine === shared.loops && (await advance())) {
        const now = performance.now();
        if (state.pace === 'reading') {
          due = Math.max(now, due + READING_MS);
          await pause(due - now);
        } else {
          await rest(); // the generator may answer without leaving the task
        }
        if (stepwise()) break; // chosen meanwhile
      }
    } catch (error) {
      shared.fail(error);
    }
    if (mine !== shared.loops) return;
    shared.running = false;
    performance.measure('generation', { start, detail: { engineMs: shared.engineMs - before } }); // for a browser's tools
    rested();
    readMemory();
    void rows.readAtRest();
  }

  /** A model that reads is shown by what it makes of its text. */
  const greet = async () => {
    if (shared.twoStacks() && state.source && state.status === 'ready') await run();
  };

  /** Write one token. */
  async function step() {
    await begun();
    if (!mayWrite()) return;
    if (state.status === 'done') rewind();
    const mine = started();
    try {
      await advance();
    } catch (error) {
      shared.fail(error);
    }
    if (mine !== shared.loops) return;
    rested();
    void rows.readAtRest();
  }

  /** Stop writing; what is written stays, and Run goes on from it. */
  const stop = rested;

  /** @param {Partial<import('./store.js').State['sampler']>} patch */
  function setSampler(patch) {
    set({ sampler: { ...state.sampler, ...patch } });
    if (!model()) for (const key of Object.keys(patch)) shared.early.add(key);
    if (state.tokens.some((t) => !t.given)) set({ pure: false });
    if (!shared.generator) return;
    // The open generator was started under the old rule: the next token comes from a new one.
    const was = shared.running;
    void shared.close();
    if (!was) return;
    set({ status: 'paused' });
    void run();
  }

  return { run, greet, step, stop, setSampler };
}
