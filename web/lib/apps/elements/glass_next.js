// glass_next.js - <glass-next>: the ten likeliest next tokens with probability and logit
import { figures, percent } from '../../../draw/written.js';
import { candidatesOf, label } from './plain_data.js';
import { table } from './dom.js';
import { Figure } from './figure_element.js';
import { nextAfter, readTokens } from './read_model.js';

export class NextFigure extends Figure {
  /** @override @param {any} data  candidates, or an object with them */
  show(data) {
    const candidates = candidatesOf(data);
    const most = candidates[0]?.probability || 1;
    const rows = candidates.map((candidate) => {
      const { probability, logit } = candidate;
      const numbers = [typeof logit === 'number' ? figures(logit) : '–', percent(probability)];
      return { cells: [label(candidate), ...numbers], share: probability / most };
    });
    this.body.replaceChildren(table('Next token', ['next token', 'logit', 'probability'], rows));
  }

  /** @override @param {import('../../api/model.js').Model} model @param {AbortSignal} signal */
  async read(model, signal) {
    const { ids } = await readTokens(model, this.text);
    const { logits } = await model.forward(ids, { logits: 'last', signal });
    const candidates = await nextAfter(model, logits, 0);
    if (!signal.aborted) this.show(candidates);
  }
}
