// tables.js - prints what was measured: a table for each instruction set, and ratios between its columns
import { ISAS } from './isa.js';

/**
 * One column of a table.
 * @typedef {object} Contender
 * @property {string} name
 * @property {string} engine
 * @property {string} [isa]  one of ISAS; the machine's own when there is none
 * @property {boolean} [before]  this engine from the checkout of --against
 * @property {string} [backend]
 * @property {string} [kvDtype]
 * @property {number} threads
 * @property {string} [library]
 * @property {boolean} [neighbour]
 */
/** @typedef {Map<Contender, Record<string, any>[]>} Results  what each visit of a contender measured */

export const median = (/** @type {number[]} */ numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
const known = (value) => value !== undefined && value !== null && Number.isFinite(value);

const unitOf = (measure) =>
  /^(?:decode|prefill)/.test(measure)
    ? 'tokens/s'
    : /^CPU (?:decode|prefill)/.test(measure)
      ? 'ms/token'
      : measure === 'memory'
        ? 'MB'
        : measure === 'download'
          ? 'KB'
          : 'ms';

const digits = (v, unit) =>
  !known(v)
    ? '–'
    : unit === 'ms/token'
      ? v.toFixed(3)
      : v >= 100 || /^(?:ms|KB)$/.test(unit)
        ? v.toFixed(0)
        : v.toFixed(1);

/** @param {{ label: string, cells: string[] }[]} rows @param {string[]} columns */
export function printTable(rows, columns) {
  const widths = columns.map((name, i) => Math.max(name.length, ...rows.map((row) => row.cells[i].length)));
  const first = Math.max(...rows.map((row) => row.label.length), 4);
  const line = (label, cells) =>
    console.log(`| ${label.padEnd(first)} | ${cells.map((cell, i) => cell.padStart(widths[i])).join(' | ')} |`);
  line('', columns);
  console.log(`|${'-'.repeat(first + 2)}|${widths.map((w) => `${'-'.repeat(w + 1)}:`).join('|')}|`);
  for (const { label, cells } of rows) line(label, cells);
  console.log();
}

/**
 * @param {string[]} measures  rows, in order
 * @param {Results} results
 */
export function tablesOf(measures, results) {
  const ours = (c) => c.engine === 'glassformer';
  const alike = (a, b) =>
    a.threads === b.threads && !!a.neighbour === !!b.neighbour && (a.isa ?? null) === (b.isa ?? null);
  const valueOf = (c, measure) => {
    const values = results
      .get(c)
      .map((visit) => visit[measure])
      .filter(known);
    return values.length ? median(values) : undefined;
  };
  const better = (mine, theirs, measure) => (unitOf(measure) === 'tokens/s' ? mine / theirs : theirs / mine);

  /** How often `mine` is better than the best of `theirs`, from the medians. */
  function ratio(mine, theirs, measure) {
    const value = valueOf(mine, measure);
    const ratios = theirs.map((p) => better(value, valueOf(p, measure), measure)).filter(known);
    return ratios.length ? Math.min(...ratios) : undefined;
  }
  /** How often `mine` is better than `theirs`: the median over visits of the ratio within a visit. */
  function pairedRatio(mine, [theirs], measure) {
    const ratios = results
      .get(mine)
      .map((visit) => {
        const other = results.get(theirs).find(({ round }) => round === visit.round);
        return other ? better(visit[measure], other[measure], measure) : undefined;
      })
      .filter(known);
    return ratios.length ? median(ratios) : undefined;
  }

  function printRatios(title, who, peersOf, of) {
    const columns = who.filter((c) => ours(c) && !c.before && peersOf(c).length);
    if (!columns.length) return;
    const rows = measures
      .map((measure) => ({
        label: measure,
        cells: columns.map((c) => of(c, peersOf(c), measure)?.toFixed(2) ?? '–'),
      }))
      .filter(({ cells }) => cells.some((cell) => cell !== '–'));
    if (!rows.length) return;
    console.log(`${title}:`);
    printTable(
      rows,
      columns.map((c) => c.name),
    );
  }

  return {
    valueOf,

    /** One table with all columns, and the ratios between them. */
    print(who) {
      const rows = measures.map((measure) => ({
        label: `${measure}, ${unitOf(measure)}`,
        cells: who.map((c) => digits(valueOf(c, measure), unitOf(measure))),
      }));
      printTable(
        rows.filter(({ cells }) => cells.some((cell) => cell !== '–')),
        who.map((c) => c.name),
      );
      const others = (name) => (c) => who.filter((p) => p.engine.startsWith(name) && alike(p, c));
      printRatios('Times better than the better wllama with as many threads', who, others('wllama'), ratio);
      printRatios('Times better than onnxruntime-web with as many threads', who, others('onnxruntime'), ratio);
      const before = (c) => who.filter((p) => p.before && p.name === `before ${c.name}` && alike(p, c));
      printRatios('Times better than before (median of the ratios within each round)', who, before, pairedRatio);
    },

    /** The instruction sets beside one another, a row for each measure of each column. */
    printSideBySide(who, isas) {
      console.log(`### ${isas.map((isa) => ISAS[isa].label).join(', ')} side by side\n`);
      const names = [...new Set(who.map((c) => c.name))];
      const rows = measures
        .filter((measure) => !/^(?:memory|download)$/.test(measure))
        .flatMap((measure) =>
          names.map((name) => ({
            label: `${measure}, ${unitOf(measure)}: ${name}`,
            cells: isas.map((isa) =>
              digits(
                valueOf(
                  who.find((c) => c.name === name && c.isa === isa),
                  measure,
                ),
                unitOf(measure),
              ),
            ),
          })),
        );
      printTable(
        rows.filter(({ cells }) => cells.some((cell) => cell !== '–')),
        isas.map((isa) => ISAS[isa].label),
      );
    },
  };
}
