// main.js - puts the page together: the state, the model, the panels.

import { mount } from 'svelte';
import { contextOf } from './state/context.js';
import { observed } from './state/observed.js';
import { createStore } from './state/store.js';
import { createRun } from './state/run.js';
import { keepHeadInStack } from './state/head_in_hand.js';
import { SHIPPED, shippedAs } from './state/models.js';
import { readAddress, holding, heedAddress, keepAddress, follow } from './state/address.js';
import Anatomy from './views/inside/anatomy/Anatomy.svelte';
import Heads from './views/inside/Heads.svelte';
import Attention from './views/inside/Attention.svelte';
import Header from './views/frame/Header.svelte';
import Notice from './views/frame/Notice.svelte';
import Models from './views/frame/Models.svelte';
import Prompt from './views/write/Prompt.svelte';
import Text from './views/write/Text.svelte';
import NextToken from './views/write/NextToken.svelte';
import Parameters from './views/count/Parameters.svelte';
import Memory from './views/count/Memory.svelte';
import Cost from './views/count/Cost.svelte';
import * as walk from './panels/walk.js';
import Compare from './views/experiment/Compare.svelte';
import Trace from './views/count/Trace.svelte';
import * as lens from './panels/lens.js';
import Ablate from './views/experiment/Ablate.svelte';
import Late from './parts/Late.svelte';
import Break from './views/experiment/Break.svelte';
import * as tutorials from './panels/tutorials.js';

const dark = matchMedia('(prefers-color-scheme: dark)');

const store = createStore({
  theme: dark.matches ? 'dark' : 'light',
  status: 'empty',
  progress: null,
  choosing: false,
  offer: null,
  error: '',
  note: { text: '', address: '' },
  model: null,
  memory: null,
  prompt: SHIPPED[0].opens.prompt,
  sampler: { temperature: 0.8, topK: 40, topP: 0.95, seed: 1337, ignoreEos: false },
  pace: 'reading',
  maxTokens: 160,
  source: 'one two three',
  examples: [],
  sourceTokens: [],
  sourceCursor: 0,
  stack: 'self',
  tokens: [],
  patterns: null,
  otherPatterns: null,
  logits: new Map(),
  words: new Map(),
  cursor: -1,
  follow: true,
  key: null,
  hover: null,
  head: { layer: 0, head: 0 },
  stage: 'pattern',
  zoom: 'near',
  speed: { tokensPerSecond: 0, msPerToken: 0, prefillMs: 0 },
  stopReason: '',
  branches: [],
  off: [],
  pure: true,
  promptLength: 0,
  arcs: true,
  openStage: '',
  walk: -1,
});
const run = createRun(store);
keepHeadInStack(store);
const sectionOf = (/** @type {string} */ name) => /** @type {any} */ (document.querySelector(`[data-panel="${name}"]`));

const context = contextOf({ page: observed(store), set: store.set, run, store });
/**
 * Put a component in the place of the section of this name.
 * @param {string} name
 * @param {any} component
 * @param {Record<string, any>} [props]
 */
function put(name, component, props) {
  const place = sectionOf(name);
  const exports = mount(component, {
    target: /** @type {Element} */ (place.parentElement),
    anchor: place,
    context,
    props,
  });
  place.remove();
  return exports;
}
for (const [name, component] of Object.entries({
  header: Header,
  notice: Notice,
  models: Models,
  prompt: Prompt,
  stream: Text,
  next: NextToken,
  anatomy: Anatomy,
  heads: Heads,
  attention: Attention,
  parameters: Parameters,
  trace: Trace,
  memory: Memory,
  cost: Cost,
  ablate: Ablate,
  break: Break,
  compare: Compare,
}))
  put(name, component);
for (const [name, panel] of Object.entries({
  lens,
  tutorials,
  walk,
})) {
  panel.create(sectionOf(name), store, run);
}

/** Views that few visitors open: their code is fetched when they come near, or when everything else is there. */
const late = [
  { id: 'train', title: 'Train your own', fetched: () => import('./views/train/Train.svelte') },
  { id: 'depth', title: 'Depth laboratory', fetched: () => import('./views/experiment/Depth.svelte') },
].map((part) => put(part.id, Late, part).show);

dark.addEventListener('change', () => {
  if (!document.documentElement.dataset.theme) store.set({ theme: dark.matches ? 'dark' : 'light' });
});

heedAddress();
let asked = holding(readAddress(location.hash));
store.set({ ...asked.state, note: asked.note });
// What a visitor does counts from here on: a model may be chosen, and a prompt typed, while the first model is on its
// way.
let touched = location.hash.length > 1 && asked.asks;
for (const type of ['pointerdown', 'keydown', 'drop'])
  addEventListener(
    type,
    () => {
      touched = true;
    },
    { once: true, capture: true },
  );
/** The fonts. They come after the first text, which they would delay on a slow line; a visitor who returns has them. */
const fonts = () => import('./fonts.css').catch(() => {}); // system fonts do as well
if (navigator.serviceWorker?.controller) void fonts();

/**
 * The response to the request for the first model that the page's head has sent already (vite.config.js).
 * @type {Promise<Response> | undefined}
 */
let requested = /** @type {any} */ (window).firstModel;
/**
 * A fetch function that answers the first request for that model with this response, if it arrived. It makes every
 * other request itself.
 * @type {typeof fetch}
 */
async function fetchRequested(input, init) {
  if (String(input) !== new URL(SHIPPED[0].file, document.baseURI).href) return fetch(input, init);
  const response = await requested?.catch(() => null);
  requested = undefined;
  if (init?.signal?.aborted) response?.body?.cancel().catch(() => {}); // its bytes would take the line from others
  return response?.ok ? response : fetch(input, init);
}
const none = () => !store.state.model && !store.state.progress; // here or on its way
const wanted = shippedAs(asked.model ?? '') ?? SHIPPED[0];
const made = !!asked.made && (await run.make(asked.made.config, asked.made.seed, asked.opens));
if (asked.made && !made && none()) {
  asked = holding({ ...asked, from: 'random weights' });
  store.set({ note: asked.note });
}
if (!made && none())
  await run.loadModel(new URL(wanted.file, document.baseURI), {
    name: wanted.name,
    address: wanted.file,
    opens: { ...wanted.opens, ...asked.opens },
    ...(requested && wanted === SHIPPED[0] && { fetch: fetchRequested }),
  });
if (made || store.state.model?.address === wanted.file) await follow(asked, store, run);
keepAddress(store);

// A page that was only opened begins to write by itself, unless motion is unwelcome; Stop is where it always is.
const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
if (!touched && !still && store.state.model && document.visibilityState === 'visible') void run.run();
const styled = fonts().then(() => document.fonts.ready);

const better = SHIPPED.find((m) => m.better && m !== wanted);
let arrived = Promise.resolve();
if (better && !asked.model && !made && (!touched || none())) {
  arrived = run
    .loadModel(new URL(better.file, document.baseURI), {
      name: better.name,
      address: better.file,
      opens: better.opens,
      instead: () => !touched && !store.state.tokens.some((t) => !t.given), // no text is taken away from a reader
    })
    .then(() => {
      if (!touched && !still && !store.state.offer) void run.run();
    });
}

// From here on the page opens without a network. No file is fetched twice at once: the better model comes first.
await arrived;
await Promise.all([styled, ...late.map((show) => show())]);
if (/** @type {any} */ (import.meta).env.PROD && 'serviceWorker' in navigator) {
  try {
    await navigator.serviceWorker.register(new URL('sw.js', document.baseURI));
    const worker = (await navigator.serviceWorker.ready).active;
    const files = SHIPPED.flatMap((m) => (m.parts ?? ['']).map((part) => m.file + part));
    const here = (/** @type {string} */ name) => new URL(name, document.baseURI).href;
    worker?.postMessage({
      keep: [here('./'), ...performance.getEntriesByType('resource').map((e) => e.name), ...files.map(here)],
    });
  } catch (error) {
    console.info('The page will not open offline:', error);
  }
}
