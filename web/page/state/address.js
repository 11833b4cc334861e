// address.js - the state of the page in its address: whoever opens it gets the same text and the same picture.
//
// A text that follows from prompt, sampler and seed is written again by the engine, which gives the same tokens in
// every browser; one that was branched, or whose sampler was moved on the way, carries its ids. So does a model with
// random weights from configuration and seed. Of a model that only its owner has, an address keeps the name, and of its
// text what holds for any model: whoever opens it is told.

import { sourceOf } from './hub.js';
import { shippedAs } from './models.js';
import { isPart } from './switches.js';
import { CONCEALABLE } from '../text/assignment.js';
import { OWN_ENTRY, viewOf } from './views.js';

const KEYS = /** @type {const} */ ({ t: 'temperature', k: 'topK', p: 'topP', seed: 'seed' });

/** @param {string} hash */
export function readAddress(hash) {
  const q = new URLSearchParams(hash.slice(1));
  const { prompt, source, head, written, ids, kept, at, key, stage, zoom, off, open, pace, made } =
    Object.fromEntries(q);
  /** @type {any} */
  const state = {}; // only what is valid
  const number = (/** @type {string | undefined} */ text, low, high) => {
    const x = Number(text);
    return text !== undefined && text !== '' && Number.isFinite(x) && x >= low && x <= high ? x : undefined;
  };
  const count = (/** @type {string | undefined} */ text, high) =>
    Number.isInteger(Number(text)) ? number(text, 0, high) : undefined;
  if (prompt !== undefined) state.prompt = prompt;
  if (source !== undefined) state.source = source;
  const sampler = { temperature: 0.8, topK: 40, topP: 0.95, seed: 1337, ignoreEos: q.get('past') === '1' };
  const valid = {
    temperature: (t) => number(t, 0, 2),
    topK: (t) => count(t, 1e6),
    topP: (t) => number(t, 0.05, 1),
    seed: (t) => count(t, 4294967295),
  };
  for (const [short, name] of Object.entries(KEYS))
    sampler[name] = valid[name](q.get(short) ?? undefined) ?? sampler[name];
  state.sampler = sampler;
  if (['reading', 'fast', 'step'].includes(pace)) state.pace = pace;
  if (/^[a-z]+[12]?$/.test(open ?? '')) state.openStage = open;
  state.view = viewOf(hash);
  state.chapter = q.get('chapter') ?? '';
  state.assignment = {
    question: (q.get('ask') ?? '').slice(0, 500),
    concealed: (q.get('hide') ?? '').split(',').filter((name) => name in CONCEALABLE),
  };
  return {
    state,
    model: q.get('model'),
    from: q.get('from') ?? (made !== undefined && !description(made) ? 'random weights' : null),
    made: description(made ?? 'null'),
    /** more than a model */
    asks: [...q.keys()].some((key) => key !== 'model'),
    /** what stands in the place of the model's own opening */
    opens: {
      ...(prompt !== undefined && { prompt }),
      ...(source !== undefined && { source }),
      ...(q.has('t') && { temperature: sampler.temperature }),
    },
    stack: /** @type {const} */ (['self', 'encoder', 'cross']).find((s) => s === q.get('stack')) ?? null,
    head: /^\d+\.\d+$/.test(head ?? '') ? head.split('.').map(Number) : null,
    written: count(written, 1e5),
    ids: ids
      ? ids
          .split('.')
          .map((x) => parseInt(x, 36))
          .filter(Number.isInteger)
      : null,
    kept: count(kept, 1e5),
    at: count(at, 1e6),
    sourceAt: count(q.get('source-at') ?? undefined, 1e6),
    key: count(key, 1e6),
    stage: ['raw', 'scaled', 'masked', 'pattern'].includes(stage) ? stage : null,
    zoom: ['near', 'whole'].includes(zoom) ? zoom : null,
    off: off ? off.split(',').filter(isPart) : [],
  };
}

/**
 * Configuration and seed of a model with random weights.
 * @param {string} text
 * @returns {{config: any, seed: number} | null}
 */
function description(text) {
  try {
    const { seed, ...config } = JSON.parse(text) ?? {};
    return Object.keys(config).length ? { config, seed } : null;
  } catch {
    return null;
  }
}

/** What holds of an address on this page: without its model no text, head or part that was switched off.
 * @param {ReturnType<typeof readAddress>} asked */
export function holding(asked) {
  const {
    model,
    from,
    opens: { prompt, ...opens },
  } = asked;
  if (from === null && (model === null || shippedAs(model))) return { ...asked, note: { text: '', address: '' } };
  const address = from === null && model !== null && sourceOf(model) === model ? model : '';
  const what =
    from !== null
      ? `made with “${from}”, a model of whoever made it`
      : `of the model at ${model}, which is not on this page`;
  return {
    ...asked,
    model: null,
    opens: prompt ? { ...opens, prompt } : opens,
    stack: null,
    head: null,
    written: undefined,
    ids: null,
    at: undefined,
    sourceAt: undefined,
    key: undefined,
    stage: null,
    zoom: null,
    off: [],
    note: {
      text: `This address is ${what}. Prompt and sampler are taken from it; the text is that of the model here.${address ? ' Nothing was asked of that address.' : ''}`,
      address,
    },
  };
}

/**
 * The present state as an address.
 * @param {import('./store.js').State} s
 */
export function addressOf(s) {
  const q = new URLSearchParams();
  if (s.view !== 'write') q.set('view', s.view);
  if (s.chapter) q.set('chapter', s.chapter);
  if (s.assignment.question) q.set('ask', s.assignment.question);
  if (s.assignment.concealed.length) q.set('hide', s.assignment.concealed.join(','));
  if (s.model?.address) q.set('model', s.model.address);
  else if (s.model?.made) q.set('made', JSON.stringify({ ...s.model.made.config, seed: s.model.made.seed }));
  else if (s.model) q.set('from', s.model.name);
  q.set('prompt', s.prompt);
  if (s.model?.config.kind === 'encoder_decoder') {
    q.set('source', s.source);
    q.set('stack', s.stack);
  }
  for (const [short, name] of Object.entries(KEYS)) q.set(short, String(s.sampler[name]));
  if (s.sampler.ignoreEos) q.set('past', '1');
  if (!s.model?.address && !s.model?.made) return `#${q}`;
  const written = s.tokens.filter((t) => !t.given);
  if (written.length) {
    if (s.pure) q.set('written', String(written.length));
    else q.set('ids', written.map((t) => t.id.toString(36)).join('.'));
    const kept = s.tokens.length - written.length;
    if (kept < s.promptLength) q.set('kept', String(kept)); // branched within the prompt
  }
  q.set('head', `${s.head.layer}.${s.head.head}`);
  if (!s.follow && s.cursor >= 0) q.set('at', String(s.cursor));
  if (s.sourceCursor < s.sourceTokens.length - 1) q.set('source-at', String(s.sourceCursor));
  if (s.key !== null) q.set('key', String(s.key));
  if (s.stage !== 'pattern') q.set('stage', s.stage);
  if (s.zoom !== 'near') q.set('zoom', s.zoom);
  if (s.openStage) q.set('open', s.openStage);
  if (s.off.length) q.set('off', s.off.join(','));
  return `#${q}`;
}

let leaving = false; // for another address

/** An address put into this tab opens as in any other. That of the skip link names no state. */
export function heedAddress() {
  addEventListener('hashchange', ({ newURL }) => {
    if (history.state?.view || !new URL(newURL).hash.includes('=')) return;
    leaving = true;
    history.replaceState(null, '', newURL);
    location.reload();
  });
}

/** What an address holds, and what says that the page rests. */
const KEPT = /** @type {const} */ ([
  'status',
  'prompt',
  'source',
  'stack',
  'sampler',
  'head',
  'cursor',
  'sourceCursor',
  'key',
  'stage',
  'zoom',
  'off',
  'openStage',
  'tokens',
  'model',
  'view',
  'chapter',
  'assignment',
]);

/**
 * Keep the address current while the page rests; one whose model did not come stays, to be opened again.
 * @param {import('./store.js').Store} store
 */
export function keepAddress({ state, subscribe }) {
  /** @type {any} */
  let timer;
  const write = () => {
    clearTimeout(timer);
    if (!state.model || state.status === 'running') return;
    timer = setTimeout(() => {
      if (!leaving) history.replaceState(OWN_ENTRY, '', addressOf(state));
    }, 300);
  };
  for (const key of KEPT) subscribe(key, write);
  write();
}
