// feature_session.svelte.js - the model and the dictionary of the view, and what was asked of them. It lasts longer than
// the component: a visitor who looks at another view finds it as it was.
import { messageOf } from '../../state/base/error_message.js';
import { keptName, shortSha } from '../../state/facts/feature_link.js';

/** @typedef {import('../../state/facts/feature_link.js').FeatureLink} FeatureLink */
/** @typedef {import('glassformer').Feature} Feature */
/**
 * A feature's places in a text: [value, quantile, place, ids].
 * @typedef {{ density: number, most: number, counts: number[], contexts: [number, number, number, number[]][] }} Shown
 */
/**
 * A dictionary with its model. owned: the view has loaded the model by itself. shown: what is recorded of its features.
 * gathers: places are taken from the text of the view, since no other is known
 * @typedef {{ dictionary: import('glassformer').Dictionary, model: import('glassformer').Model, owned?: boolean, sha: string,
 *   origin: Pick<FeatureLink, 'dictionary' | 'recipe'>, shown?: Shown[], gathers?: boolean }} Opened
 */

const TOKENS = 50; // that are written
const RESTS = 250; // milliseconds for which the slider rests before texts are written again
const TEXT = 'Once upon a time, there was a little dog named Max. Max saw a big tree and wagged his';

/** @param {Feature} about @returns {Shown | undefined} */
function shownOf({ density, histogram, contexts }) {
  if (!histogram?.most) return undefined;
  return {
    density,
    ...histogram,
    contexts: contexts.map(({ value, quantile, at, tokens }) => [value, quantile, at, tokens.map(({ id }) => id)]),
  };
}

export class FeatureSession {
  /** @type {'idle' | 'ready' | 'writing'} */
  phase = $state('idle');
  /** Another dictionary is on its way. */
  opening = $state(false);
  alarm = $state('');
  text = $state(TEXT);
  /** What each token of the text activates. @type {import('glassformer').TokenFeatures[]} */
  tokens = $state.raw([]);
  /** Index of the token that was pressed. */
  pressed = $state(-1);
  feature = $state(-1);
  /** @type {Feature | null} */
  about = $state.raw(null);
  /** What a text has of the chosen feature. @type {Shown | undefined} */
  shown = $state.raw(undefined);
  /** What is added to the activation, in multiples of the feature's largest one. */
  dose = $state(1.5);
  /** The features of the texts that are shown, and what was added to their activations. @type {{ feature: number, random: number, dose: number } | null} */
  asked = $state.raw(null);
  /** @type {string[]} unedited, edited, with a random feature */
  texts = $state([]);
  /** The names that the visitor gave, by feature. @type {Record<number, string>} */
  names = $state({});
  /** @type {Opened | null} */
  opened = $state.raw(null);
  /** SHA-256 of the model's weights, '' until known. */
  weights = $state('');
  /** What a link asks for, until another dictionary is opened. @type {FeatureLink | null} */
  wanted = $state.raw(null);
  /** Whether what is open is what the link was made with. @type {'' | 'same' | 'dictionary' | 'weights' | 'unknown'} */
  verdict = $state('');
  /** @type {import('glassformer').Tokenizer | null} */
  #tokenizer = null;
  #stopped = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #later;

  /**
   * Open a dictionary by this call, in the place of the one before.
   * @param {() => Promise<Opened | null>} open  null: it was broken off
   */
  async open(open) {
    this.opening = true;
    this.alarm = '';
    try {
      const opened = await open();
      if (opened) await this.#adopt(opened);
    } catch (error) {
      this.#fail(error);
    }
    this.opening = false;
  }

  /** @param {Opened} opened */
  async #adopt(opened) {
    this.close();
    this.opened = opened;
    this.#tokenizer = await opened.model.tokenizer;
    this.phase = 'ready';
    const { wanted } = this;
    if (wanted?.passage) this.text = wanted.passage;
    await this.read();
    if (wanted) await this.#follow(wanted, opened);
    void this.#identify(opened);
  }

  /** Find out which weights these are. @param {Opened} opened */
  async #identify(opened) {
    const provenance = await opened.model.provenance().catch(() => null); // null: the model has gone meanwhile
    if (this.opened !== opened || !provenance) return;
    this.weights = provenance.weights;
    if (this.wanted?.weights && shortSha(this.weights) !== this.wanted.weights) this.verdict = 'weights';
  }

  /** Show what a link was made with, where this is its dictionary. @param {FeatureLink} wanted @param {Opened} opened */
  async #follow(wanted, { sha, dictionary }) {
    const same = shortSha(sha) === wanted.sha;
    this.verdict = !sha || !wanted.sha ? 'unknown' : same ? 'same' : 'dictionary';
    if (this.verdict === 'dictionary' || wanted.feature >= dictionary.size) return;
    this.names = { ...wanted.names };
    const active = this.tokens.map(({ features }) => features.some(({ feature }) => feature === wanted.feature));
    const at = active.lastIndexOf(true);
    if (at >= 0) this.pressed = at;
    await this.choose(wanted.feature);
  }

  /** Free what is open. */
  close() {
    const { opened } = this;
    this.stop();
    opened?.dictionary.dispose();
    if (opened?.owned) opened.model.dispose();
    this.opened = this.about = this.asked = null;
    this.shown = undefined;
    Object.assign(this, { phase: 'idle', tokens: [], pressed: -1, feature: -1, texts: [], names: {} });
    Object.assign(this, { weights: '', verdict: '' });
  }

  /** @param {string} why  what is open has gone */
  leave(why) {
    this.close();
    this.alarm = why;
  }

  /** @param {unknown} error */
  #fail(error) {
    const words = messageOf(error);
    this.alarm = words && `${words}.`;
  }

  async read() {
    this.alarm = '';
    try {
      const { dictionary, gathers } = /** @type {Opened} */ (this.opened);
      this.tokens = await dictionary.encode(this.text);
      if (gathers) await dictionary.gather(this.text);
      await this.press(this.tokens.length - 1);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** @param {number} at */
  async press(at) {
    this.pressed = at;
    const [strongest] = this.tokens[at]?.features ?? [];
    if (strongest) await this.choose(strongest.feature);
  }

  /** @param {number} feature */
  async choose(feature) {
    const { opened } = this;
    this.feature = feature;
    const about = (await opened?.dictionary.feature(feature, { contexts: 4, tokens: 8 })) ?? null;
    if (this.feature !== feature || this.opened !== opened) return; // another one was chosen meanwhile
    this.about = about;
    this.shown = opened?.shown?.[feature] ?? (about ? shownOf(about) : undefined);
  }

  /** @param {string} name  '' takes it away */
  rename(name) {
    const { [this.feature]: _, ...others } = this.names;
    const kept = keptName(name);
    this.names = kept ? { ...others, [this.feature]: kept } : others;
  }

  /** What a link to this says. @returns {FeatureLink | null} */
  get link() {
    const { opened, feature, names, weights, text } = this;
    if (!opened || feature < 0) return null;
    const passage = text === TEXT ? '' : text;
    return { ...opened.origin, feature, names, sha: shortSha(opened.sha), weights: shortSha(weights), passage };
  }

  /** @param {number} id */
  textOf(id) {
    return this.#tokenizer?.idToText(id) ?? '';
  }

  /** The largest activation that is known of the chosen feature. */
  get most() {
    const values = this.tokens.flatMap(({ features }) => features.filter(({ feature }) => feature === this.feature));
    return this.shown?.most ?? Math.max(1e-9, ...values.map(({ value }) => value));
  }

  /** Change the dose. Texts that are shown are written again with it. @param {number} dose */
  setDose(dose) {
    this.dose = dose;
    if (!this.asked) return;
    this.stop();
    this.#later = setTimeout(() => void this.write(), RESTS);
  }

  /**
   * Write on with the likeliest tokens: without a change, with the feature, and with a random one at the same dose. It
   * takes the place of a run before it, and at another dose of a feature the random one stays.
   */
  async write() {
    const { opened, feature, asked } = this;
    if (!opened) return;
    this.stop();
    const { model, dictionary } = opened;
    this.phase = 'writing';
    this.alarm = '';
    const { signal } = (this.#stopped = new AbortController());
    const isNewest = () => this.opened === opened && this.#stopped.signal === signal;
    const random = asked?.feature === feature ? asked.random : Math.floor(Math.random() * dictionary.size);
    const dose = this.dose * this.most;
    this.asked = { feature, random, dose };
    this.texts = ['', '', ''];
    const of = (/** @type {number} */ index) => [{ dictionary, feature: index, add: dose }];
    try {
      for (const [i, edits] of [undefined, of(feature), of(random)].entries()) {
        const steps = model.generate(this.text, { edits, maxTokens: TOKENS, temperature: 0, signal });
        for await (const { text } of steps) if (isNewest()) this.texts[i] += text;
      }
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
    if (isNewest()) this.phase = 'ready';
  }

  stop() {
    clearTimeout(this.#later);
    this.#stopped.abort();
  }
}

export const session = new FeatureSession();
