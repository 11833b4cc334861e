// own_dictionary.svelte.js - a dictionary that is trained here on the loaded model: its options, its progress, its files
import { dictionary } from 'glassformer';
import { messageOf } from '../../state/base/error_message.js';
import { ownTexts } from './own_texts.js';
import { shaOfFiles } from './opened_dictionaries.js';

/** @typedef {import('./feature_session.svelte.js').Opened} Opened */
/** @typedef {import('glassformer').DictionaryStep} Step */

/** Points of a layer of which one row belongs to each token. */
export const POINTS = ['hook_resid_post', 'hook_mlp_out', 'hook_attn_out', 'mlp.hook_post'];
const HELD_OUT = 0.1; // share of the tokens, for the report
const EPOCHS = 5;

export class OwnDictionary {
  values = $state({ point: POINTS[0], layer: -1, size: 512, k: 16, tokens: 50_000, seed: 1 });
  /** The visitor's; null: the model writes the texts. @type {{ name: string, text: string } | null} */
  text = $state.raw(null);
  /** @type {'idle' | 'texts' | 'capture' | 'train' | 'done' | 'stopped'} */
  phase = $state('idle');
  alarm = $state('');
  /** Tokens of this phase that are done, and all of them. */
  progress = $state({ tokens: 0, of: 1 });
  /** The curve: a point for each tenth of a second. @type {Step[]} */
  steps = $state.raw([]);
  /** @type {import('glassformer').DictionaryReport | null} */
  report = $state.raw(null);
  /** @type {{ name: string, bytes: Uint8Array<ArrayBuffer> }[]} */
  files = $state.raw([]);
  #stop = new AbortController();

  get busy() {
    return this.phase === 'texts' || this.phase === 'capture' || this.phase === 'train';
  }

  /** @param {any} config  of the loaded model; the layer in the middle unless one was chosen */
  layerOf({ nLayers }) {
    const { layer } = this.values;
    return layer < 0 || layer >= nLayers ? Math.floor(nLayers / 2) : layer;
  }

  /** Take over what a link was made with. @param {import('../../state/facts/feature_link.js').Recipe} recipe */
  take({ at, size, k, tokens, seed }) {
    const [, layer, point] = /^blocks\.(\d+)\.(.+)$/.exec(at) ?? [];
    if (POINTS.includes(point)) Object.assign(this.values, { point, layer: Number(layer), size, k, tokens, seed });
  }

  /**
   * @param {import('glassformer').Model} api
   * @param {string} prompt  with which texts of a model without a token for the beginning begin
   * @returns {Promise<Opened | null>} null: it was broken off
   */
  async train(api, prompt) {
    const { signal } = (this.#stop = new AbortController());
    const { point, size, k, tokens, seed } = this.values;
    const at = `blocks.${this.layerOf(api.config)}.${point}`;
    const heldOut = Math.ceil(tokens * HELD_OUT);
    Object.assign(this, { alarm: '', steps: [], report: null, files: [] });
    try {
      const texts = this.text ? this.text.text : await this.#write(api, tokens + heldOut, prompt, signal);
      const run = dictionary(api, texts, { at, size, k, tokens, seed, heldOut, epochs: EPOCHS, signal });
      for await (const step of run) this.#draw(step);
      const made = await run.dictionary();
      this.files = await made.files();
      this.phase = 'done';
      const recipe = { at, size, k, tokens, seed, text: this.text?.name ?? '' };
      return { dictionary: made, model: api, sha: await shaOfFiles(this.files), origin: { dictionary: '', recipe } };
    } catch (error) {
      this.phase = this.steps.length ? 'stopped' : 'idle';
      if (!signal.aborted) this.alarm = `${messageOf(error)}.`;
      return null;
    }
  }

  /** @param {any} api @param {number} wanted @param {string} prompt @param {AbortSignal} signal */
  #write(api, wanted, prompt, signal) {
    this.phase = 'texts';
    this.progress = { tokens: 0, of: wanted };
    const onTokens = (/** @type {number} */ tokens) => (this.progress = { tokens, of: wanted });
    return ownTexts(api, wanted, this.values.seed, prompt, signal, onTokens);
  }

  /** @param {Step} step */
  #draw(step) {
    this.phase = step.phase;
    this.progress = { tokens: step.tokens, of: step.of };
    if (step.phase === 'train') this.steps = [...this.steps, step];
  }

  /** Compare it with simpler descriptions on the text that was held out. @param {import('glassformer').Dictionary} made */
  async judge(made) {
    const { files } = this;
    const report = await made.report().catch(() => null); // the model is gone, or no text was held out
    if (this.files === files) this.report = report;
  }

  stop() {
    this.#stop.abort();
  }
}

export const own = new OwnDictionary();
