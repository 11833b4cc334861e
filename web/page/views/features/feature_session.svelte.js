// feature_session.svelte.js - the model and the dictionary of the view, and what was asked of them. It lasts longer than
// the component: a visitor who looks at another view finds it as it was.
import { Dictionary, load } from 'glassformer';
import { messageOf } from '../../state/base/error_message.js';

/** Files beside the page. */
const MODEL = 'weights/stories.gguf';
const FOLDER = 'weights/dictionaries/stories';
const FILES = ['cfg.json', 'sae_weights.safetensors', 'token_table.safetensors'];
/** Bytes of model and dictionary. */
export const SIZE = 7_200_000;
const TOKENS = 50;

/** @param {string} file */
const addressOf = (file) => new URL(file, document.baseURI);

/**
 * A feature's places in the training text: [value, quantile, place, ids].
 * @typedef {{ density: number, most: number, counts: number[], contexts: [number, number, number, number[]][] }} Shown
 */

export class FeatureSession {
  /** @type {'idle' | 'loading' | 'ready' | 'writing'} */
  phase = $state('idle');
  alarm = $state('');
  text = $state('Once upon a time, there was a little dog named Max. Max saw a big tree and wagged his');
  /** What each token of the text activates. @type {import('glassformer').TokenFeatures[]} */
  tokens = $state.raw([]);
  /** Index of the token that was pressed. */
  pressed = $state(-1);
  feature = $state(-1);
  /** @type {import('glassformer').Feature | null} */
  about = $state.raw(null);
  /** What is added to the activation, in multiples of the feature's largest one. */
  dose = $state(2);
  /** The features of the texts that are shown, and what was added to their activations. @type {{ feature: number, random: number, dose: number } | null} */
  asked = $state.raw(null);
  /** @type {string[]} unedited, edited, with a random feature */
  texts = $state([]);
  /** @type {Shown[]} */
  #shown = [];
  /** @type {import('glassformer').Model | null} */
  #model = null;
  /** @type {Dictionary | null} */
  #dictionary = null;
  /** @type {import('glassformer').Tokenizer | null} */
  #tokenizer = null;
  #stopped = new AbortController();

  /** Load both, and read the text. */
  async open() {
    this.phase = 'loading';
    this.alarm = '';
    try {
      const model = (this.#model = await load(addressOf(MODEL)));
      const files = await Promise.all(
        FILES.map(async (name) => new File([await (await fetch(addressOf(`${FOLDER}/${name}`))).blob()], name)),
      );
      this.#dictionary = await Dictionary.load(files, { model });
      this.#shown = await (await fetch(addressOf(`${FOLDER}/features.json`))).json();
      this.#tokenizer = await model.tokenizer;
      this.phase = 'ready';
      await this.read();
    } catch (error) {
      this.#fail(error);
      this.phase = 'idle';
    }
  }

  /** @param {unknown} error */
  #fail(error) {
    this.alarm = `${messageOf(error)}.`;
  }

  async read() {
    this.alarm = '';
    try {
      this.tokens = (await this.#dictionary?.encode(this.text)) ?? [];
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
    this.feature = feature;
    this.about = (await this.#dictionary?.feature(feature, { tokens: 8 })) ?? null;
  }

  /** What the training text has of the chosen feature. @returns {Shown | undefined} */
  get shown() {
    return this.#shown[this.feature];
  }

  /** @param {number} id */
  textOf(id) {
    return this.#tokenizer?.idToText(id) ?? '';
  }

  /** Write on with the likeliest tokens: without a change, with the feature, and with a random one at the same dose. */
  async write() {
    const [model, dictionary] = [this.#model, this.#dictionary];
    if (!model || !dictionary) return;
    this.phase = 'writing';
    this.alarm = '';
    const { signal } = (this.#stopped = new AbortController());
    const random = Math.floor(Math.random() * dictionary.size);
    const { feature } = this;
    const dose = this.dose * (this.shown?.most ?? 1);
    this.asked = { feature, random, dose };
    this.texts = ['', '', ''];
    const of = (/** @type {number} */ index) => [{ dictionary, feature: index, add: dose }];
    try {
      for (const [i, edits] of [undefined, of(feature), of(random)].entries()) {
        const steps = model.generate(this.text, { edits, maxTokens: TOKENS, temperature: 0, signal });
        for await (const { text } of steps) this.texts[i] += text;
      }
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
    this.phase = 'ready';
  }

  stop() {
    this.#stopped.abort();
  }
}

export const session = new FeatureSession();
