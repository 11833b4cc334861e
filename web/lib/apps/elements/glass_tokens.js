// glass_tokens.js - <glass-tokens>: a text as a strip of tokens with their ids, one of them chosen
import { roving } from '../../../draw/roving.js';
import { label, tokensOf } from './plain_data.js';
import { made } from './dom.js';
import { Figure } from './figure_element.js';
import { readTokens } from './read_model.js';

export class TokensFigure extends Figure {
  /** @type {import('./plain_data.js').Token[]} */
  #tokens = [];
  #chosen = -1;
  #list = made('div', { class: 'tokens', role: 'listbox', 'aria-label': 'Tokens', 'aria-orientation': 'horizontal' });

  constructor() {
    super();
    roving(() => 1, '.token')(this.#list);
  }

  /** The chosen position, -1 for none. */
  get chosen() {
    return this.#chosen;
  }
  set chosen(position) {
    this.#chosen = position;
    this.#mark();
  }

  /** @override @param {any} data  tokens, or an object with them */
  show(data) {
    const before = this.#tokens;
    this.#tokens = tokensOf(data?.tokens ?? data);
    this.body.replaceChildren(this.#list);
    const same = this.#tokens.findIndex(({ text, id }, i) => before[i]?.text !== text || before[i].id !== id);
    const kept = same < 0 ? this.#tokens.length : same;
    while (this.#list.children.length > kept) this.#list.lastChild?.remove();
    this.#list.append(...this.#tokens.slice(kept).map((token, i) => this.#item(token, kept + i)));
    this.#mark();
  }

  /** @override @param {import('../../api/model.js').Model} model @param {AbortSignal} signal */
  async read(model, signal) {
    const { tokens } = await readTokens(model, this.text);
    if (!signal.aborted) this.show(tokens);
  }

  /** @param {import('./plain_data.js').Token} token @param {number} position */
  #item(token, position) {
    const item = made('span', { class: 'token', role: 'option' }, label(token));
    if (token.id !== undefined) item.append(made('small', {}, String(token.id)));
    item.addEventListener('click', () => {
      this.chosen = position;
      this.announce('choose', { position, token });
    });
    return item;
  }

  #mark() {
    const items = [...this.#list.children];
    for (const [i, item] of items.entries()) {
      item.setAttribute('aria-selected', String(i === this.#chosen));
      item.setAttribute('tabindex', i === (items[this.#chosen] ? this.#chosen : 0) ? '0' : '-1');
    }
  }
}
