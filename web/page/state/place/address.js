// address.js - writes the state of the page as an address and reads it: whoever opens it gets the same text and the
// same picture.
//
// A text that follows from prompt, sampler and seed is written again by the engine, which gives the same tokens in
// every browser; one that was branched, or whose sampler was moved on the way, carries its ids. So does a model with
// random weights from configuration and seed. Of a model that only its owner has, an address keeps the name, and of its
// text what holds for any model: whoever opens it is told.
import { say } from '../base/language.js';
import { FEATURE_KEYS, featureLinkIn, putFeatureLink } from '../facts/feature_link.js';
import { sourceOf } from '../facts/hub.js';
import { SAMPLER_OPTIONS } from '../facts/sampler_options.js';
import { shippedModelAt } from '../facts/shipped_models.js';
import { isPart } from '../facts/switchable_parts.js';
import { CONCEALABLE, viewOf } from '../facts/views.js';

/** @template Value @typedef {import('../facts/sampler_options.js').Option<Value>} Option */

/** @param {string | null} text @param {number} low @param {number} high */
function number(text, low, high) {
  const x = Number(text);
  return text !== null && text !== '' && Number.isFinite(x) && x >= low && x <= high ? x : undefined;
}
/** @param {string | null} text @param {number} high */
const count = (text, high) => (Number.isInteger(Number(text)) ? number(text, 0, high) : undefined);
/** @template {string} T @param {string | null} text @param {T[]} words @returns {T | undefined} */
const oneOf = (text, ...words) => words.find((word) => word === text);

/** The value of a sampler option in an address, or its default. @param {URLSearchParams} q @param {Option<any>} option */
function optionIn(q, { key, default: usual, least = 0, most = 0, step }) {
  const text = q.get(key);
  if (typeof usual === 'boolean') return text === '1';
  return (step === 1 ? count(text, most) : number(text, least, most)) ?? usual;
}

const MOST_PROMPT = 100_000; // characters of an address that are read
const tooLong = (/** @type {URLSearchParams} */ q) => (q.get('prompt')?.length ?? 0) > MOST_PROMPT;

/**
 * What the page shows from the first frame on: only what is valid.
 * @param {URLSearchParams} q
 * @param {string} hash
 * @returns {import('../store/store.js').Patch}
 */
function stateOf(q, hash) {
  const prompt = tooLong(q) ? null : q.get('prompt'),
    source = q.get('source'),
    pace = oneOf(q.get('pace'), 'reading', 'fast', 'step'),
    open = q.get('open') ?? '',
    unit = q.get('unit') ?? '',
    present = q.get('present') ?? '';
  return {
    text: { ...(prompt !== null && { prompt }), ...(source !== null && { source }) },
    sampler: Object.fromEntries(SAMPLER_OPTIONS.map(([name, option]) => [name, optionIn(q, option)])),
    engine: { ...(pace && { pace }) },
    view: {
      id: viewOf(hash),
      learn: q.get('learn') ?? '',
      lab: (q.get('lab') ?? '').slice(0, 40),
      preset: (q.get('preset') ?? '').slice(0, 40),
      labSize: q.get('size') === 'short' ? 'short' : 'full',
      features: featureLinkIn(q),
      ...(/^[a-z]+[12]?$/.test(open) && { openStage: open }),
      ...(isPart(unit) && { unit }),
      ...(/^[a-z]+$/.test(present) && { present }),
      assignment: {
        question: (q.get('ask') ?? '').slice(0, 500),
        questions: (q.get('quiz') ?? '').split(',').filter((page) => /^[a-z]+$/.test(page)),
        concealed: (q.get('hide') ?? '').split(',').filter((name) => CONCEALABLE.includes(name)),
      },
    },
  };
}

/** @param {string} hash */
export function readAddress(hash) {
  const q = new URLSearchParams(hash.slice(1));
  const get = (/** @type {string} */ name) => q.get(name);
  const state = stateOf(q, hash);
  const made = get('made'),
    head = get('head') ?? '';
  return {
    state,
    model: get('model'),
    refused: tooLong(q)
      ? say`The prompt of this address has more than ${MOST_PROMPT} characters and was not read.`
      : '',
    from: get('from') ?? (made !== null && !description(made) ? 'random weights' : null),
    made: description(made ?? 'null'),
    /** more than a model in a language */
    asks: [...q.keys()].some((key) => key !== 'model' && key !== 'lang'),
    /** what stands in the place of the model's own opening */
    opens: { ...state.text, ...(q.has('t') && { temperature: state.sampler?.temperature }) },
    stack: oneOf(get('stack'), 'self', 'encoder', 'cross') ?? null,
    head: /^\d+\.\d+$/.test(head) ? head.split('.').map(Number) : null,
    written: count(get('written'), 1e5),
    ids:
      get('ids')
        ?.split('.')
        .map((x) => parseInt(x, 36))
        .filter(Number.isInteger) ?? null,
    kept: count(get('kept'), 1e5),
    at: count(get('at'), 1e6),
    sourceAt: count(get('source-at'), 1e6),
    key: count(get('key'), 1e6),
    form: oneOf(get('stage'), 'raw', 'scaled', 'masked', 'pattern') ?? null,
    zoom: oneOf(get('zoom'), 'near', 'whole') ?? null,
    off: (get('off') ?? '').split(',').filter(isPart),
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
export function applicable(asked) {
  const {
    model,
    from,
    opens: { prompt, ...opens },
  } = asked;
  if (from === null && (model === null || shippedModelAt(model)))
    return { ...asked, note: { text: asked.refused, address: '' } };
  const address = from === null && model !== null && sourceOf(model) === model ? model : '';
  const what =
    from !== null
      ? say`This link was made with “${from}”, a model that only its author has.`
      : say`This link uses the model at ${model}, which is not loaded.`;
  return {
    ...readAddress('#'),
    state: asked.state,
    asks: asked.asks,
    opens: prompt ? { ...opens, prompt } : opens,
    note: {
      text: `${what} ${say`Its prompt and sampling settings are used with the model loaded here.`}${address ? say` Nothing was downloaded from there.` : ''}`,
      address,
    },
  };
}

/** Keys of what is open, and of a class: the state has them with or without a model. */
const OPEN = ['lang', 'view', 'learn', 'present', 'lab', 'size', 'preset', 'ask', 'quiz', 'hide', ...FEATURE_KEYS];

/**
 * The present state as an address. What an address asks for is in the state when its model is there; until then it stays.
 * @param {import('../store/state.js').State} state
 * @param {Partial<import('../store/state.js').State['view']>} [changes]  of what is open
 */
export function addressOf({ view, text, sampler, attention, engine }, changes) {
  const { id, learn, lab, labSize, preset, features, assignment, ...more } = { ...view, ...changes };
  const { openStage, unit, present, language } = more;
  const { model } = engine;
  const q = new URLSearchParams();
  if (changes?.language || language !== 'en') q.set('lang', language);
  if (id !== 'write') q.set('view', id);
  if (learn) q.set('learn', learn);
  if (present) q.set('present', present);
  if (id === 'labs' && lab) q.set('lab', lab);
  if (id === 'labs' && labSize === 'short') q.set('size', labSize);
  if (id === 'experiment' && preset) q.set('preset', preset);
  if (id === 'features' && features) putFeatureLink(q, features);
  if (assignment.question) q.set('ask', assignment.question);
  if (assignment.questions.length) q.set('quiz', assignment.questions.join(','));
  if (assignment.concealed.length) q.set('hide', assignment.concealed.join(','));
  /** @type {Record<string, string>} */
  const typed = { prompt: text.prompt, source: text.source };
  for (const [name, { key }] of SAMPLER_OPTIONS)
    if (typeof sampler[name] === 'number') typed[key] = String(sampler[name]);
  const hash = globalThis.location?.hash ?? '';
  const asked = hash.includes('=')
    ? [...new URLSearchParams(hash.slice(1))].filter(([key]) => !OPEN.includes(key))
    : [];
  if (!model && asked.length) {
    for (const [key, value] of asked) q.set(key, typed[key] ?? value);
    return `#${q}`;
  }
  if (model?.address) q.set('model', model.address);
  else if (model?.made) q.set('made', JSON.stringify({ ...model.made.config, seed: model.made.seed }));
  else if (model) q.set('from', model.name);
  if (model?.config.kind === 'encoder_decoder') q.set('stack', attention.stack);
  else delete typed.source;
  for (const [key, value] of Object.entries(typed)) q.set(key, value);
  for (const [name, { key }] of SAMPLER_OPTIONS) if (sampler[name] === true) q.set(key, '1');
  if (!model?.address && !model?.made) return `#${q}`;
  // the text ends where a question about the next token is asked
  const asks = assignment.concealed.includes('next') && text.cursor >= 0;
  const end = asks ? text.cursor + 1 : text.tokens.length;
  const written = text.tokens.slice(0, end).filter((t) => !t.given);
  if (written.length) {
    if (text.pure) q.set('written', String(written.length));
    else q.set('ids', written.map((t) => t.id.toString(36)).join('.'));
    const given = Math.min(end, text.tokens.length) - written.length;
    if (given < text.promptLength) q.set('kept', String(given)); // branched within the prompt
  }
  q.set('head', `${attention.head.layer}.${attention.head.head}`);
  if (asks || (!text.follow && text.cursor >= 0)) q.set('at', String(text.cursor));
  if (text.sourceCursor < text.sourceTokens.length - 1) q.set('source-at', String(text.sourceCursor));
  if (attention.key !== null) q.set('key', String(attention.key));
  if (attention.form !== 'pattern') q.set('stage', attention.form);
  if (attention.zoom !== 'near') q.set('zoom', attention.zoom);
  if (openStage) q.set('open', openStage);
  if (unit) q.set('unit', unit);
  if (attention.off.length) q.set('off', attention.off.join(','));
  return `#${q}`;
}
