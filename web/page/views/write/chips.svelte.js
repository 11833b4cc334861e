// chips.svelte.js - the tokens of the text as the list draws them. Each keeps its own signals, so that a new token and a
// moved cursor cost the same in a text of any length.

import { piecesOf, tokenShade } from './token_text.js';

/** @typedef {import('../../state/store/state.js').Token} Token */

const LONGEST = 8; // tokens of a word

class Chip {
  shade = $state('');
  here = $state(false);
  seen = $state(false);
  chosen = $state(false);
  /** in the tab order: exactly one is */
  stop = $state(false);

  /**
   * @param {Token} token
   * @param {boolean} arrives  it fades in
   */
  constructor(token, arrives) {
    this.token = token;
    this.arrives = arrives;
    this.pieces = piecesOf(token);
    this.refresh();
  }
  /** A probability may come after the token was drawn. */
  refresh() {
    this.logprob = this.token.logprob;
    this.shade = tokenShade(this.token);
  }
}

export class Chips {
  list = $state.raw(/** @type {Chip[]} */ ([]));
  /** @type {Chip[]} */
  #chips = [];
  /** @type {Chip[]} */
  #marked = [];

  /**
   * Take over the text; tokens that stay keep their chips. Those of a word that goes on get new ones: the word may have
   * to begin on the next line, which browsers count as a moved element (layout shift) if its nodes stay.
   * @param {Token[]} tokens
   * @param {boolean} arrives
   * @param {number} focused  its chip stays
   */
  update(tokens, arrives, focused) {
    const chips = this.#chips;
    let same = 0;
    while (same < chips.length && chips[same].token === tokens[same]) same++;
    for (let i = 0; i < same; i++) if (chips[i].logprob !== chips[i].token.logprob) chips[i].refresh();
    if (same === chips.length && same === tokens.length) return;
    let kept = same;
    while (kept > focused + 1 && same - kept < LONGEST && /^[^ ]/.test(tokens[kept]?.text ?? '')) kept--;
    const chipOf = (/** @type {Token} */ token, /** @type {number} */ i) =>
      new Chip(token, arrives && i >= same - kept);
    this.#chips = [...chips.slice(0, kept), ...tokens.slice(kept).map(chipOf)];
    this.list = this.#chips;
  }

  /**
   * @param {number} here    the query whose row is drawn
   * @param {number} seen    the selected key
   * @param {number} cursor
   */
  mark(here, seen, cursor) {
    for (const chip of this.#marked) chip.here = chip.seen = chip.chosen = chip.stop = false;
    const at = (/** @type {number} */ i) => /** @type {Chip | undefined} */ (this.#chips[i]);
    const [one, other, chosen, stop] = [at(here), at(seen), at(cursor), at(cursor) ?? at(0)];
    if (one) one.here = true;
    if (other) other.seen = true;
    if (chosen) chosen.chosen = true;
    if (stop) stop.stop = true;
    this.#marked = [one, other, stop].filter((chip) => chip !== undefined);
  }
}
