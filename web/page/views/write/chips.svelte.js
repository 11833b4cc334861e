// chips.svelte.js - the tokens of the text as the list draws them. Each keeps its own signals, so that a new token and a
// moved cursor cost the same in a text of any length.

import { piecesOf, tokenShade } from './token_text.js';

/** @typedef {import('../../state/state.js').Token} Token */

class Chip {
  shade = $state('');
  here = $state(false);
  seen = $state(false);
  chosen = $state(false);
  /** in the tab order: exactly one is */
  stop = $state(false);

  /**
   * @param {Token} token
   * @param {import('./token_text.js').Look} look
   * @param {boolean} arrives  it fades in
   */
  constructor(token, look, arrives) {
    this.token = token;
    this.arrives = arrives;
    this.pieces = piecesOf(token, look);
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
   * Take over the text; tokens that stay keep their chips.
   * @param {Token[]} tokens
   * @param {import('./token_text.js').Look} look
   * @param {boolean} arrives
   */
  update(tokens, look, arrives) {
    const chips = this.#chips;
    let same = 0;
    while (same < chips.length && chips[same].token === tokens[same]) same++;
    for (let i = 0; i < same; i++) if (chips[i].logprob !== chips[i].token.logprob) chips[i].refresh();
    if (same === chips.length && same === tokens.length) return;
    this.#chips = [...chips.slice(0, same), ...tokens.slice(same).map((token) => new Chip(token, look, arrives))];
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
