// from_one.js - what labs say of layers and heads, which they count from 0 as the API does, counted from 1 as on the page

/** @typedef {import('glassformer/labs').Figure} Figure */
/** @typedef {import('glassformer/labs').Matrix} Matrix */

const after = (/** @type {string} */ number) => Number(number) + 1;

/** "head 1.0" -> "head 1 of layer 2". @param {string} text */
export const fromOne = (text) =>
  text
    .replace(/\bhead (\d+)\.(\d+)/g, (_, layer, head) => `head ${after(head)} of layer ${after(layer)}`)
    .replace(/\bthe input of layer (\d+)/g, (_, layer) => `the input of layer ${after(layer)}`);

/** Layers, heads, and heads of layers along a side of a matrix. @param {Matrix['rows']} side */
const sideFromOne = ({ name, labels }) => ({
  name,
  labels: /^(?:layer|head)$/.test(name)
    ? labels.map((label) =>
        label
          .replace(/^(\d+)\.(\d+)$/, (_, layer, head) => `L${after(layer)} H${after(head)}`)
          .replace(/^\d+$/, (index) => String(after(index))),
      )
    : labels,
});

/** @param {Figure} figure @returns {Figure} */
export const figureFromOne = (figure) => {
  const title = fromOne(figure.title);
  return figure.kind === 'matrix'
    ? { ...figure, title, rows: sideFromOne(figure.rows), columns: sideFromOne(figure.columns) }
    : { ...figure, title };
};
