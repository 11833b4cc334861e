// parameter_groups.js - the table of parameters by component and by block, each row with the formula that gives its
// count. A formula is shown only where it gives exactly the count of the file.
import { groups } from 'd3-array';
import { embedWidth, isGated, isNarrow } from '../../state/facts/architecture.js';
import { say } from '../../state/base/language.js';
import { BIASES, COMPONENTS, READ, blockName, componentName } from '../../text/count_text.js';
import { int, tensorsSaid } from '../../text/format.js';

/**
 * @typedef {import('glassformer').ParameterRow & { address?: number, memoryBytes?: number }} Row  with the tensor's
 *   place in linear memory, of a model that is loaded
 * @typedef {ReturnType<typeof byComponent>[number]} Group
 */

/**
 * The columns behind the name. key: the class of the cells; head: that of the heading, where it is another; text: of a
 * group, a tensor and the last line, where a cell is a text alone.
 * @type {{ key: string, head?: string, title: string, text?: (part: { count: number, bytes: number, memoryBytes?: number }) => string }[]}
 */
export const COLUMNS = [
  { key: 'formula', head: 'formulas', title: say`Formula` },
  { key: 'count', title: say`Count`, text: ({ count }) => int(count) },
  { key: 'bytes', title: say`Bytes in the file`, text: ({ bytes }) => int(bytes) },
  { key: 'resident', title: say`Bytes in memory`, text: ({ memoryBytes }) => int(memoryBytes ?? 0) },
  { key: 'share', title: say`Share` },
  { key: 'read', title: READ.column },
];

/** Components in the order in which a token passes them, as the library calls them. */
export const ORDER = Object.keys(COMPONENTS);

/**
 * Sum over rows; of a tensor that is another one's, count and bytes are 0.
 * @param {Row[]} rows
 * @param {'count' | 'bytes' | 'memoryBytes'} key
 */
const sum = (rows, key) => rows.reduce((n, row) => n + (row[key] ?? 0), 0);
/** @param {Row[]} rows */
export const sums = (rows) => ({
  count: sum(rows, 'count'),
  bytes: sum(rows, 'bytes'),
  memoryBytes: sum(rows, 'memoryBytes'),
});

/** What a row is listed under: its component, or a part of it that is counted in another way. @param {Row} row */
export const kindOf = ({ name, component }) => KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? component;
/** @type {[RegExp, string][]} */
const KINDS = [
  [/relative_bias\./, 'relative'],
  [/\.ffn\.(router|experts|shared_gate|shared_expert)\./, 'experts'],
  [/^token_type\./, 'types'],
  [/^pooler\./, 'pooler'],
  [/^head_(transform|norm)\./, 'mlm'],
];

/**
 * Rows by component and stack: formula in letters, and with this model's numbers, '' where there is no formula.
 * @param {Row[]} rows
 * @param {any} config
 */
export function byComponent(rows, config) {
  const place = (/** @type {Row[]} */ list) => ORDER.indexOf(list[0].component);
  return groups(rows, (row) => `${kindOf(row)} ${row.stack ?? ''}`)
    .map(([, list]) => list)
    .sort((a, b) => place(a) - place(b))
    .map((list) => {
      const { stack, layer } = list[0];
      const layers = new Set(list.filter((row) => !row.tiedTo).map((row) => row.layer)).size;
      const tied = list.every((row) => row.tiedTo);
      const of = config.kind === 'encoder_decoder' ? stack : null;
      return {
        name: componentName({
          component: kindOf(list[0]),
          layers: layer === null ? 0 : layers,
          stack: of,
          ffn: config.ffn,
        }),
        ...sums(list),
        tied, // every tensor of it is another one's, counted there
        rows: list,
        ...(tied ? { formula: sharedSaid(list[0]), numbers: '' } : formulaOf(list, layers, config)),
      };
    });
}

/**
 * Rows by block: what a token passes, in order.
 * @param {Row[]} rows
 * @param {any} config
 * @returns {Group[]}
 */
export function byBlock(rows, config) {
  return groups(rows, (row) => (row.layer === null ? kindOf(row) : `${row.stack} ${row.layer}`)).map(([, list]) => {
    const parts = byComponent(list, config);
    const { layer, stack } = list[0];
    if (layer === null) return parts[0];
    // one block: the formulas of its parts without the factor 1
    const joined = (/** @type {'formula' | 'numbers'} */ key) =>
      parts.every((part) => part.tied)
        ? parts[0][key]
        : parts.map((part) => part[key].replace(/^1 · /, '')).join(' + ');
    return {
      name: blockName(layer, config.kind === 'encoder_decoder' ? stack : null),
      ...sums(list),
      tied: false,
      rows: list,
      formula: joined('formula'),
      numbers: joined('numbers'),
    };
  });
}

/** What a component without numbers of its own shares. @param {Row} row */
const sharedSaid = ({ component }) =>
  component === 'head' ? say`shared with the embedding` : say`shared with an earlier layer`;

/** @typedef {[name: string, number: number, written?: string]} Factor  written: its number, where not in one piece */
/**
 * Factors of terms by their letters.
 * @param {any} c  the configuration
 * @param {boolean} encodes  whether they are of the encoder of two stacks
 * @returns {Record<string, Factor>}
 */
const factorsOf = ({ positionOffset: offset, contextLength, ...c }, encodes) => ({
  V: ['vocab', c.vocabSize],
  c: ['labels', c.nLabels],
  U: ['encoder_vocab', c.encoderVocabSize],
  d: ['d', c.dModel],
  'd²': ['d²', c.dModel ** 2, `${c.dModel}²`],
  h: ['h', c.nHeads],
  g: ['h_kv', c.nKvHeads],
  e: ['d_head', c.dHead],
  f: encodes && c.dEncoderFf ? ['d_encoder_ff', c.dEncoderFf] : ['d_ff', c.dFf],
  m: ['n_experts', c.nExperts],
  x: ['d_expert', c.dExpert],
  s: ['d_shared', c.dSharedExpert],
  n: offset
    ? [`(n_ctx + ${offset})`, contextLength + offset, `(${contextLength} + ${offset})`]
    : ['n_ctx', contextLength],
  t: ['types', c.nTokenTypes],
  b: ['buckets', c.relativeBuckets],
  w: ['d_embed', embedWidth(c)],
});

/** Whether a row is the gain or bias of a norm. @param {Row} row */
const ofNorm = ({ component, name }) => /norm$/.test(component) || name.startsWith('head_norm.');

/**
 * The terms of a component's count in one block: products of letters and numbers.
 * @param {Row[]} rows
 * @param {number} layers
 * @param {any} c
 * @returns {string[] | undefined}
 */
function termsOf(rows, layers, c) {
  const times = (/** @type {number} */ n, /** @type {string} */ term) => (n === 1 ? term : `${n} ${term}`);
  const tables = rows.filter((row) => !row.tiedTo && !/_project\./.test(row.name)).length; // two stacks have one each
  const projected = c.dEmbed ? ['w d'] : [];
  const narrow = isNarrow(c) ? 'w' : 'd';
  const width = isNarrow(c) ? c.dEmbed : c.dModel;
  const matrices = isGated(c) ? 3 : 2;
  const square = c.nHeads === c.nKvHeads && c.nHeads * c.dHead === c.dModel;
  return /** @type {Record<string, string[]>} */ ({
    embedding: c.encoderVocabSize ? ['U d', 'V d'] : [times(tables, c.dEmbed ? 'V w' : 'V d'), ...projected],
    head: [
      ...(c.tieWordEmbeddings
        ? []
        : [`${c.nLabels ? 'c' : 'V'} ${c.dEmbed && !(c.nLabels && isNarrow(c)) ? 'w' : 'd'}`]),
      ...(isNarrow(c) ? [] : projected),
    ],
    position: [times(tables, `n ${narrow}`)],
    relative: [times(tables, 'b h')],
    types: [`t ${narrow}`],
    pooler: ['d²'],
    mlm: [
      isNarrow(c) && c.mlmHead ? 'w d' : 'd²',
      ...(rows.some(ofNorm) ? [times(sum(rows.filter(ofNorm), 'count') / width, narrow)] : []),
    ],
    attention: square ? ['4 d²'] : ['2 h e d', '2 g e d'],
    cross_attention: square ? ['4 d²'] : ['2 h e d', '2 g e d'],
    ffn: [`${matrices} d f`],
    experts: ['m d', `${matrices} m d x`, ...(c.dSharedExpert ? ['d', `${matrices} d s`] : [])],
    norm:
      rows[0].layer === null
        ? [`${sum(rows, 'count') / layers / width} ${narrow}`]
        : [`${sum(rows, 'count') / layers / c.dModel} d`],
    final_norm: [times(tables, 'd')],
  })[kindOf(rows[0])];
}

/**
 * @param {Row[]} rows  of one component
 * @param {number} layers
 * @param {any} config
 * @returns {{ formula: string, numbers: string }} how many tensors there are, where no formula gives the count
 */
function formulaOf(rows, layers, config) {
  const { component, stack } = rows[0];
  // the first block has one norm less
  const isUneven = component === 'norm' && layers > 1 && config.firstNorm === false;
  const layer = isUneven ? null : rows[0].layer;
  const terms = termsOf(rows, isUneven ? 1 : layers, config);
  if (!terms) return { formula: tensorsSaid(rows.length), numbers: '' };
  const factors = factorsOf(config, config.kind === 'encoder_decoder' && stack === 'encoder');
  const products = terms.map((term) =>
    term.split(' ').map((word) => factors[word] ?? /** @type {Factor} */ ([word, Number(word)])),
  );
  const biases = sum(
    rows.filter((row) => row.shape.length === 1 && !ofNorm(row)),
    'count',
  );
  const inBlock = products.reduce((n, product) => n + product.reduce((m, [, number]) => m * number, 1), 0);
  if (inBlock * (layer === null ? 1 : layers) + biases !== sum(rows, 'count'))
    return { formula: say`${tensorsSaid(rows.length)}, listed below`, numbers: '' };
  const written = (/** @type {(factor: Factor) => string | number} */ as) => {
    const inner = products.map((product) => product.map(as).join(' · ')).join(' + ');
    const times = layer === null ? inner : `${layers} · ${terms.length > 1 ? `(${inner})` : inner}`;
    return [terms.length ? times : '', biases ? `${biases} ${BIASES(component, config)}` : '']
      .filter(Boolean)
      .join(' + ');
  };
  return { formula: written(([name]) => name), numbers: written(([, number, said]) => said ?? number) };
}

/**
 * Tensors that are multiplied with the same input are packed as one matrix: the last words but one of the names of
 * those that lie where this one does.
 * @param {Row} row
 * @param {Row[]} rows
 */
export const packedWith = (row, rows) =>
  rows
    .filter((other) => other !== row && other.address === row.address && !other.tiedTo)
    .map((other) => other.name.split('.').at(-2) ?? other.name);

const FILE_COLUMNS = 'name component stack layer shape dtype count bytes formula tiedTo address memoryBytes'.split(' ');

/**
 * The whole table as rows of a file, the names of the columns first.
 * @param {Row[]} rows
 * @returns {(string | number)[][]}
 */
export const asCells = (rows) => [
  FILE_COLUMNS,
  ...rows.map((row) =>
    FILE_COLUMNS.map((c) => (c === 'shape' ? row.shape.join(' × ') : (/** @type {any} */ (row)[c] ?? ''))),
  ),
];
