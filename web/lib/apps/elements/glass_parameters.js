// glass_parameters.js - <glass-parameters>: the parameters of a model by component, with bytes and shares
import { int, percent } from '../../../draw/written.js';
import { componentsOf } from './plain_data.js';
import { table } from './dom.js';
import { Figure } from './figure_element.js';

/** @type {Record<string, string>} */
const NAMES = { ffn: 'feed-forward', cross_attention: 'cross-attention', norm: 'norms', final_norm: 'final norm' };

export class ParametersFigure extends Figure {
  /** @override @param {any} data  rows as of `model.parameters`, or an object with them */
  show(data) {
    const components = componentsOf(data);
    const count = components.reduce((sum, row) => sum + row.count, 0);
    const bytes = components.reduce((sum, row) => sum + row.bytes, 0);
    const rows = components.map((row) => {
      const name = NAMES[row.component] ?? row.component;
      const share = row.count / (count || 1);
      const numbers = [int(row.count), int(row.bytes), row.tiedTo ? '' : percent(share)];
      return { cells: [row.tiedTo ? `${name}, shared with the embedding` : name, ...numbers], share };
    });
    const total = { cells: ['total', int(count), int(bytes), ''], share: null };
    const columns = ['component', 'parameters', 'bytes', 'share'];
    this.body.replaceChildren(table('Parameters by component', columns, [...rows, total]));
  }

  /** @override @param {import('../../api/model.js').Model} model */
  async read(model) {
    this.show(model.parameters);
  }
}
