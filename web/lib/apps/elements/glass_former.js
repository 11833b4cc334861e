// glass_former.js - <glass-former>: a small figure of a whole model: prompt, text as it is written, heads, next token
import { made } from './dom.js';
import { Figure } from './figure_element.js';
import { PATTERNS, emptyStore, nextAfter, readPattern, readTokens } from './read_model.js';

/** @import { Model } from '../../api/model.js' */
/** @typedef {import('./glass_attention.js').AttentionFigure} AttentionFigure */
/** @typedef {import('./glass_next.js').NextFigure} NextFigure */
/** @typedef {import('./glass_tokens.js').TokensFigure} TokensFigure */

const TOKENS = 40;

export class FormerFigure extends Figure {
  /** @override */
  static observedAttributes = [...Figure.observedAttributes, 'compact'];

  #input = made('input', { 'aria-label': 'Prompt', autocomplete: 'off' });
  #button = made('button', { class: 'write' }, 'Write');
  #form = made('form', {}, this.#input, this.#button);
  #tokens = /** @type {TokensFigure} */ (/** @type {unknown} */ (document.createElement('glass-tokens')));
  #attention = /** @type {AttentionFigure} */ (/** @type {unknown} */ (document.createElement('glass-attention')));
  #next = /** @type {NextFigure} */ (/** @type {unknown} */ (document.createElement('glass-next')));
  #frame = made('div', { class: 'former' }, this.#tokens, this.#attention, this.#next);
  #reader = /** @type {Model | null} */ (null);
  /** The pass over the present text. */
  #pass = /** @type {Awaited<ReturnType<typeof readPattern>> | null} */ (null);
  #writing = /** @type {AbortController | null} */ (null);
  /** Aborted when something else is to be shown. */
  #reading = new AbortController().signal;

  constructor() {
    super();
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (this.#writing) this.#writing.abort();
      else if (this.#reader) void this.#write(this.#reader);
    });
    this.#tokens.addEventListener('choose', (event) => {
      this.#after(/** @type {CustomEvent} */ (event).detail.position).catch((error) => this.fail(error));
    });
  }

  /** @override @param {string} name @param {string | null} before @param {string | null} value */
  attributeChangedCallback(name, before, value) {
    if (name === 'compact')
      for (const part of [this.#tokens, this.#attention, this.#next]) part.toggleAttribute(name, value !== null);
    super.attributeChangedCallback(name, before, value);
  }

  /** @override */
  disconnectedCallback() {
    super.disconnectedCallback();
    this.#writing?.abort();
  }

  /** @override @param {any} data  { tokens, pattern, candidates }, of which each may be missing */
  show(data) {
    this.#reader = this.#pass = null; // they belong to the model before
    this.#attention.data = this.#next.data = null;
    this.#attention.query = Infinity; // the last
    this.#draw(data);
  }

  /** @param {any} data */
  #draw(data) {
    this.body.replaceChildren(...(this.#reader ? [this.#form] : []), this.#frame);
    this.#tokens.data = data.tokens ?? null;
    if (data.pattern) this.#attention.data = data;
    if (data.candidates) this.#next.data = data.candidates;
  }

  /** @override @param {Model} model @param {AbortSignal} signal */
  async read(model, signal) {
    this.#reader = model;
    this.#reading = signal;
    this.#attention.query = Infinity;
    this.#input.value = this.text ?? 'Once upon a time';
    signal.addEventListener('abort', () => this.#writing?.abort());
    const { ids, tokens } = await readTokens(model, this.#input.value);
    await this.#rest(model, ids, tokens, signal);
  }

  /**
   * Reads the whole text: every row, and the logits after each token.
   * @param {Model} model
   * @param {number[]} ids
   * @param {import('./plain_data.js').Token[]} tokens
   * @param {AbortSignal} signal
   */
  async #rest(model, ids, tokens, signal) {
    this.#pass = await readPattern(model, ids, signal);
    const candidates = await nextAfter(model, this.#pass.logits, ids.length - 1);
    if (signal.aborted) return;
    this.#draw({ tokens, pattern: this.#pass.pattern, candidates });
    this.#tokens.chosen = ids.length - 1;
  }

  /** @param {number} position */
  async #after(position) {
    const pass = this.#pass;
    if (!pass || !this.#reader || this.#writing) return;
    this.#attention.query = position;
    const candidates = await nextAfter(this.#reader, pass.logits, position);
    if (this.#pass === pass) this.#next.data = candidates;
  }

  /** @param {Model} model */
  async #write(model) {
    const { signal } = (this.#writing = new AbortController());
    const reading = this.#reading;
    this.#pass = null; // it belongs to the text before
    this.#attention.query = Infinity;
    this.#button.textContent = 'Stop';
    this.say('');
    let frame = 0;
    try {
      const { ids, tokens } = await readTokens(model, this.#input.value);
      const pattern = emptyStore(model);
      const options = { maxTokens: TOKENS, temperature: 0.8, logprobs: 10, capture: PATTERNS, signal };
      const seed = Number(this.getAttribute('seed') ?? 1);
      try {
        for await (const { id, text, top, captured } of model.generate(ids, { ...options, seed })) {
          pattern.append(captured ?? {});
          ids.push(id);
          tokens.push({ id, text });
          const candidates = top?.map(({ logprob, ...rest }) => ({ ...rest, probability: Math.exp(logprob) }));
          frame ||= requestAnimationFrame(() => {
            frame = 0;
            this.#draw({ tokens: [...tokens], pattern, candidates });
          });
        }
      } catch (error) {
        if (!signal.aborted) throw error; // Stop: what was written is read
      }
      cancelAnimationFrame(frame);
      await this.#rest(model, ids, tokens, reading);
      if (!signal.aborted) this.announce('done', { text: tokens.map(({ text }) => text).join('') });
    } catch (error) {
      cancelAnimationFrame(frame);
      if (reading.aborted) return;
      this.fail(error);
      this.body.replaceChildren(this.#form, this.#frame); // another prompt may do
    } finally {
      this.#writing = null;
      this.#button.textContent = 'Write';
    }
  }
}
