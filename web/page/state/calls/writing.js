// writing.js - writes the text on: a generator of the library stays open at its end, and Run, Step and Stop only decide
// how often it is asked. Whatever changes the text's past or the sampler closes it.
import { ruleOf } from '../facts/sampler_options.js';
import { setPrompt } from './read_prompt.js';
import { rewind } from './rewinding.js';
import { PATTERN_BUDGET, capturedPoints, readAtRest, readShown } from './attention_rows.js';
import { READING_MS, stepMs } from '../base/speed.js';
import { hides } from '../facts/views.js';
import { pause, yielder } from '../base/yielding.js';

/** @typedef {import('../store/runtime.js').Runtime} Runtime */

const SPEED_MS = 50; // between two computations of the speed, at least
const MEMORY_MS = 200; // between two readings of the map of memory, at least

/** @param {Runtime} runtime */
function open(runtime) {
  const left = runtime.rows().bytes < PATTERN_BUDGET; // beyond it the text goes on unseen
  return (runtime.generator = runtime.model().generate(runtime.ids(), {
    ...runtime.reads(),
    ...runtime.state.sampler,
    logprobs: Math.min(10, runtime.loaded().config.vocabSize),
    ...(left ? { capture: capturedPoints(runtime) } : {}),
  }));
}

/** The model's map of memory as it is now. The library renews it with each answer of the engine, but a step of a text is
 * none: any small call is. @param {any} api */
async function renewedMemory(api) {
  await api.points();
  return api.memory;
}

/** Puts the map of memory into the state, unless the model has gone meanwhile. @param {Runtime} runtime */
function readMemory(runtime) {
  const api = runtime.model();
  void renewedMemory(api).then(
    (memory) => {
      if (api === runtime.model()) runtime.set({ engine: { memory } });
    },
    () => {},
  );
}

/**
 * Put a token that was generated at the end of the text.
 * @param {Runtime} runtime
 * @param {import('../store/runtime.js').Step} step
 * @param {boolean} first  after the prompt: its time is not that of a step
 */
function take(runtime, step, first) {
  const { state, set, recent } = runtime;
  const { tokens, follow } = state.text;
  if (step.captured) for (const store of runtime.stores()) store.append(step.captured);
  tokens.push({
    id: step.id,
    text: step.text,
    given: false,
    logprob: /** @type {number} */ (step.logprob),
    top: step.top ?? null,
    rule: ruleOf(state.sampler),
  });
  runtime.engineMs += step.ms;
  if (!first) recent.push(step.ms);
  if (recent.length > 64) recent.shift();
  set({
    text: { tokens, ...(follow && { cursor: tokens.length - 2 }) },
    attention: { patterns: runtime.rows(), ...(follow && { key: null }) },
  });
  const now = performance.now();
  if (now - runtime.speedAt < SPEED_MS) return; // for each token it would cost as much as the rest
  runtime.speedAt = now;
  measureSpeed(runtime);
}

/** The mean time of the newest steps. @param {Runtime} runtime */
function measureSpeed({ state, set, recent }) {
  const ms = stepMs(recent);
  if (ms) set({ engine: { speed: { ...state.engine.speed, msPerToken: ms, tokensPerSecond: 1000 / ms } } });
}

/** The generator has come to its end. @param {Runtime} runtime @param {import('../store/runtime.js').Summary} summary */
function end(runtime, { stopReason, tokensPerSecond }) {
  runtime.generator = null;
  measureSpeed(runtime);
  const { speed } = runtime.state.engine;
  runtime.set({
    engine: {
      status: 'done',
      stopReason,
      speed: { ...speed, tokensPerSecond: tokensPerSecond || speed.tokensPerSecond },
    },
  });
}

/**
 * Ask the generator for one token.
 * @param {Runtime} runtime
 * @returns whether there was one
 */
async function advance(runtime) {
  const { state, turn } = runtime;
  const written = state.text.tokens.filter((t) => !t.given).length;
  if (written >= state.engine.maxTokens) {
    // counted here: the limit may be moved while a generator is open
    void runtime.close();
    measureSpeed(runtime);
    runtime.set({ engine: { status: 'done', stopReason: 'maxTokens' } });
    return false;
  }
  const source = runtime.generator ?? open(runtime);
  const answer = await source.next().catch((/** @type {unknown} */ error) => {
    if (source !== runtime.generator) return null; // nobody waits for it any more
    runtime.generator = null;
    throw error;
  });
  if (!answer || turn !== runtime.turn || source !== runtime.generator) return false;
  if (answer.done) {
    end(runtime, answer.value);
    return false;
  }
  const now = performance.now();
  if (now - runtime.memoryAt > MEMORY_MS) {
    runtime.memoryAt = now;
    readMemory(runtime);
  }
  take(runtime, answer.value, !written);
  void readShown(runtime);
  return true;
}

const stepwise = (/** @type {Runtime} */ { state }) => state.engine.pace === 'step';

/**
 * Wait for the prompt; one that could not be read is tried again, which tells why. A text that has ended starts again
 * from it. Nothing is written while a link for a class hides what follows.
 * @param {Runtime} runtime
 * @param {boolean} [asked]  see write
 * @returns whether the model may write
 */
async function ready(runtime, asked = false) {
  if (!asked && hides(runtime.state.view, 'next')) return false;
  const { prompt } = runtime.state.text;
  if (runtime.state.engine.status === 'done') rewind(runtime); // may read the prompt
  do await runtime.reading;
  while (runtime.reading); // another has taken its place
  if (runtime.state.text.prompt !== prompt) return false; // it was refused, the text before it is not continued
  if (runtime.state.text.unread) await setPrompt(runtime, prompt);
  const { model } = runtime.state.engine;
  return !runtime.running && !runtime.state.text.unread && !!model && model.config.kind !== 'encoder';
}

/**
 * Read the generator until `work` is done, unless a newer reader overtakes it.
 * @param {Runtime} runtime
 * @param {(current: () => boolean) => Promise<any>} work
 * @returns {Promise<boolean>} whether it was the last reader
 */
async function reading(runtime, work) {
  const reader = ++runtime.readers;
  runtime.running = true;
  runtime.set({ engine: { status: 'running', stopReason: '' }, text: { follow: true }, view: { error: '' } });
  try {
    await work(() => runtime.running && reader === runtime.readers);
  } catch (error) {
    runtime.fail(error);
  }
  return reader === runtime.readers;
}

/** Stop writing; what is written stays, and Run goes on from it. @param {Runtime} runtime */
export function stop(runtime) {
  runtime.running = false;
  if (runtime.state.engine.status !== 'running') return;
  measureSpeed(runtime);
  runtime.set({ engine: { status: 'paused' } });
}

/** Write on until something stops it. @param {Runtime} runtime @param {boolean} [asked]  by an address, also where it hides what follows */
export async function write(runtime, asked) {
  if (!(await ready(runtime, asked))) return;
  if (stepwise(runtime)) return writeOne(runtime);
  const start = performance.now();
  const before = runtime.engineMs;
  const last = await reading(runtime, async (current) => {
    let due = start;
    const rest = yielder();
    while (current() && (await advance(runtime))) {
      const now = performance.now();
      if (runtime.state.engine.pace === 'reading') {
        due = Math.max(now, due + READING_MS);
        await pause(due - now);
      } else {
        await rest(); // the generator may answer without leaving the task
      }
      if (stepwise(runtime)) break; // chosen meanwhile
    }
  });
  if (!last) return;
  performance.measure('generation', { start, detail: { engineMs: runtime.engineMs - before } }); // for a browser's tools
  stop(runtime);
  readMemory(runtime);
  void readAtRest(runtime);
}

/** Lets an encoder-decoder write what it makes of its source. @param {Runtime} runtime */
export async function answerSource(runtime) {
  const { text, engine } = runtime.state;
  if (runtime.twoStacks() && text.source && engine.status === 'ready') await write(runtime);
}

/** Write one token. @param {Runtime} runtime */
export async function step(runtime) {
  if (await ready(runtime)) await writeOne(runtime);
}

/** @param {Runtime} runtime */
async function writeOne(runtime) {
  if (!(await reading(runtime, () => advance(runtime)))) return;
  stop(runtime);
  void readAtRest(runtime);
}

/** @param {Runtime} runtime @param {Partial<import('../facts/sampler_options.js').Sampler>} patch */
export function setSampler(runtime, patch) {
  const { state, set } = runtime;
  set({ sampler: patch });
  if (!runtime.model()) for (const key of Object.keys(patch)) state.engine.setBefore.add(key);
  if (state.text.tokens.some((t) => !t.given)) set({ text: { pure: false } });
  if (!runtime.generator) return;
  // The open generator was started under the old rule: the next token comes from a new one.
  const was = runtime.running;
  void runtime.close();
  if (!was) return;
  set({ engine: { status: 'paused' } });
  void write(runtime);
}
