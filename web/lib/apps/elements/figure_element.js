// figure_element.js - what all elements share: a shadow tree, plain data or a model to show, errors, and the end
import { made } from './dom.js';
import { lookOf } from './element_styles.js';
import { releaseModel, requestModel } from './shared_models.js';

/** @import { Model } from '../../api/model.js' */

/** The base class. Without a document it is a plain class, so that importing the entry does not fail. */
const Base = /** @type {typeof HTMLElement} */ (globalThis.HTMLElement ?? class {});

/**
 * Keep a key that the element uses from the page around it, which may have keys of its own: a slide deck turns.
 * @param {Event} event
 */
function keepInside(event) {
  const { target, key } = /** @type {KeyboardEvent} */ (event);
  const isTyped = target instanceof HTMLInputElement;
  const presses = target instanceof HTMLButtonElement && (key === 'Enter' || key === ' ');
  if (isTyped || presses || event.defaultPrevented) event.stopPropagation();
}

/** Properties that may be set before the element is defined. */
const PROPERTIES = /** @type {const} */ (['model', 'data', 'src', 'text', 'layer', 'head', 'query', 'chosen']);

export class Figure extends Base {
  static observedAttributes = ['src', 'text', 'data'];

  #given = /** @type {Model | null} */ (null);
  #data = /** @type {unknown} */ (null);
  /** The model of `src`. */
  #own = /** @type {{ src: string, model: Promise<Model> } | null} */ (null);
  #run = new AbortController();
  #queued = false;
  body = made('div', { class: 'body' });
  /** One sentence: what is awaited, or an error. */
  #line = made('p', { class: 'line', role: 'status' });

  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [lookOf()];
    root.append(this.body, this.#line);
    for (const type of ['keydown', 'keypress', 'keyup']) root.addEventListener(type, keepInside);
  }

  get model() {
    return this.#given;
  }
  set model(model) {
    this.#given = model;
    this.refresh();
  }
  get data() {
    return this.#data;
  }
  set data(data) {
    this.#data = data;
    this.refresh();
  }
  get src() {
    return this.getAttribute('src');
  }
  set src(src) {
    this.#reflect('src', src);
  }
  get text() {
    return this.getAttribute('text');
  }
  set text(text) {
    this.#reflect('text', text);
  }

  /** @param {string} name @param {string | null | undefined} value */
  #reflect(name, value) {
    if (value === null || value === undefined) this.removeAttribute(name);
    else this.setAttribute(name, value);
  }

  connectedCallback() {
    const own = /** @type {Record<string, any>} */ (this);
    for (const name of PROPERTIES) {
      if (!Object.hasOwn(own, name)) continue;
      const value = own[name];
      delete own[name];
      own[name] = value;
    }
    this.refresh();
  }

  disconnectedCallback() {
    // not where it only moves
    queueMicrotask(() => {
      if (this.isConnected) return;
      this.#run.abort();
      this.#release();
    });
  }

  /** @param {string} _name @param {string | null} _before @param {string | null} _value */
  attributeChangedCallback(_name, _before, _value) {
    this.refresh();
  }

  /** Show the present data or model, once for all changes of this turn. */
  refresh() {
    if (this.#queued || !this.isConnected) return;
    this.#queued = true;
    queueMicrotask(() => {
      this.#queued = false;
      if (this.isConnected) void this.#update();
    });
  }

  async #update() {
    this.#run.abort();
    const { signal } = (this.#run = new AbortController());
    try {
      const data = this.#data ?? JSON.parse(this.getAttribute('data') ?? 'null');
      if (data !== null || this.#given || !this.src) this.#release();
      if (data !== null) this.show(data);
      else if (this.#given || this.src) {
        const own = this.#given ? null : this.#loaded();
        if (own) this.say('The model is loading.');
        const model = this.#given ?? (await own);
        if (!signal.aborted && model) await this.read(model, signal);
      } else this.body.replaceChildren();
      if (!signal.aborted) this.say('');
    } catch (error) {
      if (signal.aborted) return;
      this.#release(); // the next change loads again
      this.fail(error);
    }
  }

  #loaded() {
    const src = /** @type {string} */ (this.src);
    const address = src.startsWith('hf:') ? src : new URL(src, document.baseURI).href;
    if (this.#own?.src !== address) {
      this.#release();
      this.#own = { src: address, model: requestModel(address) };
    }
    return this.#own?.model;
  }

  #release() {
    if (this.#own) releaseModel(this.#own.src, this.#own.model);
    this.#own = null;
  }

  /** Checks and draws. @param {any} data  data in the form that the element documents */
  show(data) {
    throw new TypeError(`${this.localName} cannot show ${data}`);
  }

  /** Asks a model and shows the answer. @param {Model} model @param {AbortSignal} signal */
  async read(model, signal) {
    throw new TypeError(`${this.localName} cannot read ${model} ${signal}`);
  }

  /** @param {string} sentence */
  say(sentence) {
    this.#line.setAttribute('role', 'status');
    this.#line.textContent = sentence;
  }

  /** One sentence in place of the figure, and the event `error`. @param {unknown} cause */
  fail(cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    this.body.replaceChildren();
    this.#line.setAttribute('role', 'alert');
    this.#line.textContent = message.replace(/[^.!?]$/, '$&.');
    this.dispatchEvent(new ErrorEvent('error', { error: cause, message }));
  }

  /** @param {string} name @param {Record<string, any>} detail */
  announce(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}
