// glass_parameters.js - <glass-parameters>: the parameters of a model by component, with bytes and shares
import { int, percent } from '../../draw/written.js';
import { componentsOf } from './data.js';
import { bar, made } from './dom.js';
import { Figure } from './figure.js';

/** @type {Record<string, string>} */
const NAMES = { ffn: 'feed-forward', cross_attention: 'cross-attention', norm: 'norms', final_norm: 'final norm' };

export class ParametersFigure extends Figure {
  /** @override @param {any} data  rows as of `model.parameters`, or an object with them */
  show(data) {
    const rows = componentsOf(data);
    const count = rows.reduce((sum, row) => sum + row.count, 0);
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    const body = made('tbody');
    for (const row of rows) {
      const share = row.count / (count || 1);
      const name = NAMES[row.component] ?? row.component;
      const said = row.tiedTo ? `${name}, shared with the embedding` : name;
      body.append(line(said, int(row.count), int(row.bytes), row.tiedTo ? '' : percent(share), bar(share)));
    }
    const head = made('tr');
    for (const name of ['component', 'parameters', 'bytes', 'share'])
      head.append(made('th', { scope: 'col', class: name === 'component' ? '' : 'n' }, name));
    head.append(made('td'));
    const foot = made('tfoot', {}, line('total', int(count), int(bytes), '', ''));
    const table = made('table', { class: 'parameters', 'aria-label': 'Parameters by component' });
    table.append(made('thead', {}, head), body, foot);
    const scroll = { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Parameters' };
    this.body.replaceChildren(made('div', scroll, table));
  }

  /** @override @param {import('../model_handle.js').Model} model */
  async read(model) {
    this.show(model.parameters);
  }
}

/**
 * @param {string} name
 * @param {string} count
 * @param {string} bytes
 * @param {string} share
 * @param {Node | string} drawn
 */
const line = (name, count, bytes, share, drawn) =>
  made(
    'tr',
    {},
    made('th', { scope: 'row' }, name),
    ...[count, bytes, share].map((text) => made('td', { class: 'n' }, text)),
    made('td', { class: 'bar' }, drawn),
  );
