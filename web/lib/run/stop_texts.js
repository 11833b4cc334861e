// stop_texts.js - delivers steps up to a stop text, and withholds those whose text may be the beginning of one

/** @import { Step } from './generate.js' */

/**
 * Withholds steps whose text may be the beginning of a stop string, or an incomplete character, until later tokens
 * decide it. `text` and `ids` are those of the steps released so far.
 */
export class StepBuffer {
  /** @type {Step[]} */
  #pending = [];
  text = '';
  /** @type {number[]} */
  ids = [];
  stopped = false;
  /** The stop string that was found. @type {string | undefined} */
  stopText;
  #pushed = 0;

  /**
   * @param {string[]} stops
   * @param {{push(id: number): string, end(): string, half: boolean} | null} decoder
   * @param {number} minTokens  a stop string that begins in the text of so many first tokens has no effect
   */
  constructor(stops, decoder, minTokens = 0) {
    this.stops = minTokens ? [] : stops;
    this.laterStops = stops;
    this.decoder = decoder;
    this.minTokens = minTokens;
  }

  /**
   * Add a step.
   * @param {Step} step  its text is set here
   * @returns {Step[]} the steps that can be delivered
   */
  push(step) {
    if (this.#pushed++ === this.minTokens) this.stops = this.laterStops;
    step.text = this.decoder ? this.decoder.push(step.id) : '';
    this.#pending.push(step);
    return this.#release(false);
  }

  /**
   * Release the withheld steps: no further token follows.
   * @returns {Step[]}
   */
  end() {
    const rest = this.decoder?.end();
    const last = this.#pending.at(-1);
    if (rest && last) last.text += rest; // an incomplete character at the end
    return this.#release(true);
  }

  /**
   * Take the steps that can be delivered out of the buffer.
   * @param {boolean} all  whether no further token follows
   * @returns {Step[]}
   */
  #release(all) {
    const text = this.#pending.map((s) => s.text).join('');
    const places = this.stops.map((s) => text.indexOf(s));
    const found = places.filter((i) => i >= 0);
    let deliverable = text.length; // characters that can be delivered
    if (found.length) {
      this.stopped = true;
      deliverable = Math.min(...found);
      this.stopText = this.stops[places.indexOf(deliverable)];
    } else if (!all) {
      deliverable -= Math.max(0, ...this.stops.map((s) => overlap(text, s)));
    }
    /** @type {Step[]} */
    const out = [];
    let at = 0;
    while (this.#pending.length) {
      const step = this.#pending[0];
      const end = at + step.text.length;
      if (this.stopped) {
        // The text of this token lies in the stop string, or after it.
        if (at >= deliverable && (step.text || at > deliverable)) break;
        step.text = step.text.slice(0, deliverable - at);
      } else if (
        !all &&
        (end > deliverable || (this.decoder && end === text.length && (!step.text || this.decoder.half)))
      ) {
        break; // the text may begin a stop string, or the next token may complete its last character
      }
      out.push(step);
      this.#pending.shift();
      at = end;
    }
    for (const step of out) {
      this.text += step.text;
      this.ids.push(step.id);
    }
    if (this.stopped) this.#pending = [];
    return out;
  }
}

/**
 * Length of the longest suffix of the text that is a proper prefix of the stop string.
 * @param {string} text
 * @param {string} stop
 */
function overlap(text, stop) {
  for (let n = Math.min(text.length, stop.length - 1); n > 0; n--) if (text.endsWith(stop.slice(0, n))) return n;
  return 0;
}
