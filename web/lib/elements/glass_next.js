// glass_next.js - <glass-next>: the ten likeliest next tokens with probability and logit
import { figures, percent } from '../../draw/written.js';
import { candidatesOf, label } from './data.js';
import { bar, made } from './dom.js';
import { Figure } from './figure.js';
import { nextAfter, readTokens } from './reading.js';

export class NextFigure extends Figure {
  /** @override @param {any} data  candidates, or an object with them */
  show(data) {
    const candidates = candidatesOf(data);
    const most = candidates[0]?.probability || 1;
    const head = made('tr');
    for (const name of ['next token', 'logit', 'probability'])
      head.append(made('th', { scope: 'col', class: name === 'next token' ? '' : 'n' }, name));
    head.append(made('td'));
    const body = made('tbody');
    for (const candidate of candidates) {
      const { probability, logit } = candidate;
      const word = made('th', { scope: 'row' }, label(candidate));
      const written = [logit === null || logit === undefined ? '–' : figures(logit), percent(probability)];
      const cells = written.map((text) => made('td', { class: 'n' }, text));
      body.append(made('tr', {}, word, ...cells, made('td', { class: 'bar' }, bar(probability / most))));
    }
    const table = made('table', { 'aria-label': 'Next token' }, made('thead', {}, head), body);
    this.body.replaceChildren(table);
  }

  /** @override @param {import('../model_handle.js').Model} model @param {AbortSignal} signal */
  async read(model, signal) {
    const { ids } = await readTokens(model, this.text);
    const { logits } = await model.forward(ids);
    const candidates = await nextAfter(model, logits, ids.length - 1);
    if (!signal.aborted) this.show(candidates);
  }
}
