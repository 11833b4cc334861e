// copied_figure.js - the figure of “Copy as HTML”: an element for any page
import { version } from '../../../../package.json';
import { shownAttention } from '../../state/calls/shown_attention.js';
import { idsOf, sourceOf, textOf } from './programs.js';

/** A figure for any page: of the model and the text, or of what is known of the selected head where no address gives the
 * model or it has two stacks. @param {import('../../state/store/state.js').State} s */
export function asHtml(s) {
  const { config, ...model } = s.engine.model ?? {};
  const figure = document.createElement('glass-former');
  if (sourceOf(model) && config?.kind !== 'encoder_decoder') {
    figure.setAttribute('src', /** @type {string} */ (sourceOf(model)));
    figure.setAttribute('text', s.engine.model?.wordless ? idsOf(s.text.tokens).join(' ') : textOf(s.text.tokens));
  } else {
    const { rows, queries, keys } = shownAttention(s);
    const { layer, head } = s.attention.head;
    const short = (/** @type {{ id: number, text: string }[]} */ list) => list.map(({ id, text }) => ({ id, text }));
    const tokens = short(queries.slice(0, rows?.known(layer)));
    const pattern = tokens.map((_, q) => Array.from(rows?.row(layer, head, q) ?? [], (x) => Number(x.toFixed(3))));
    figure.setAttribute('data', JSON.stringify({ tokens, keys: queries === keys ? undefined : short(keys), pattern }));
  }
  const script = `https://cdn.jsdelivr.net/npm/glassformer@${version}/dist/elements.js`;
  return `<script type="module" src="${script}"></script>\n${figure.outerHTML}\n`;
}
