// ablation.js - a model's parts as a grid of switches, and two runs over the same tokens compared: one untouched, one
// with parts switched off

import { editsOf, headKey, partOf } from '../../state/facts/switchable_parts.js';
import { hasFfn, headsOf } from '../../state/facts/architecture.js';
import { likeliest } from '../../../draw/likelihood.js';

/** @typedef {import('../../state/facts/switchable_parts.js').Part} Part */
/** @typedef {import('../../state/store/state.js').Token} Token */

export const MOST = 160; // tokens of the text that are scored
export const AHEAD = 32; // tokens of the continuations
const LIKELIEST = 5;
const AT_LEAST = 0.1; // bits by which a token counts as affected

/**
 * The rows of the grid: the heads of an attention, and the FFN behind it where there is one.
 * @param {any} config
 * @returns {{ label: string, parts: Part[], ffn: boolean }[]}
 */
export function rowsOf(config) {
  const { kind, nLayers, nEncoderLayers } = config;
  const two = kind === 'encoder_decoder';
  const rows = [];
  const add = (
    /** @type {string} */ label,
    /** @type {import('../../state/calls/shown_attention.js').Stack} */ stack,
    /** @type {number} */ layer,
  ) => {
    const keys = Array.from({ length: headsOf(config, stack === 'encoder') }, (_, head) => headKey(stack, layer, head));
    const ffn = stack !== 'cross' && hasFfn(config);
    if (ffn) keys.push(`${stack === 'encoder' ? 'e' : ''}${layer}.ffn`);
    rows.push({ label, parts: keys.map((key) => /** @type {Part} */ (partOf(config, key))), ffn });
  };
  if (two) for (let layer = 0; layer < nEncoderLayers; layer++) add(`E${layer + 1}`, 'encoder', layer);
  for (let layer = 0; layer < nLayers; layer++) {
    add(`L${layer + 1}`, 'self', layer);
    if (two) add('↔', 'cross', layer);
  }
  return rows;
}

/**
 * The rows in the order in which they are measured: first that of the chosen head.
 * @param {ReturnType<typeof rowsOf>} rows
 * @param {Pick<import('../../state/store/state.js').State['attention'], 'stack' | 'head'>} attention
 */
export function inOrder(rows, { stack, head }) {
  const chosen = rows.find(({ parts }) => parts[0].key === headKey(stack, head.layer, 0));
  return chosen ? [chosen, ...rows.filter((row) => row !== chosen)] : rows;
}

/** @typedef {Awaited<ReturnType<typeof compareWithout>>} Comparison */

/**
 * Compare the text with and without these parts.
 * @param {object} of
 * @param {import('../../state/calls/page_calls.js').Calls} of.calls
 * @param {any} of.config
 * @param {Token[]} of.tokens   of the text that is scored
 * @param {string[]} of.keys
 * @param {AbortSignal} of.signal
 * @param {(id: number) => string} of.wordOf  asked when the ids were spelled
 */
export async function compareWithout({ calls, config, tokens, keys, signal, wordOf }) {
  const ids = tokens.map((t) => t.id);
  const edits = editsOf(config, keys);
  const given = ids.slice(0, Math.max(1, tokens.filter((t) => t.given).length));
  const losses = [await calls.lossOf(ids, [], signal), await calls.lossOf(ids, edits, signal)];
  const texts = [
    await calls.continuation(given, [], AHEAD, signal),
    await calls.continuation(given, edits, AHEAD, signal),
  ];
  const last = [await calls.logitsAfter(ids, [], signal), await calls.logitsAfter(ids, edits, signal)];
  const tops = last.map((logits) => likeliest(logits, LIKELIEST));
  await calls.spell(tops.flat().map((c) => c.id));
  const [whole, cut] = losses.map(({ mean, bits }, i) => ({
    mean, // bits a token
    bits, // one number for each token but the first
    steps: texts[i].map((step) => step.text), // the continuation, a text a token
    /** Likeliest tokens after the whole text. */
    next: tops[i].map((c) => ({ word: wordOf(c.id), share: c.model })),
  }));
  return {
    keys, // parts that are off
    whole,
    cut,
    /** First token of the continuations that differs, -1: none. */
    firstDifference: texts[0].findIndex((step, i) => step.id !== texts[1][i]?.id),
    /** Tokens that lost most, largest loss first. */
    affected: mostAffected(whole.bits, cut.bits).map(({ at, bits }) => ({ token: tokens[at], bits })),
  };
}

/**
 * The three tokens that became hardest to predict. Entry i of the lists belongs to token i + 1.
 * @param {number[]} whole
 * @param {number[]} cut
 */
export const mostAffected = (whole, cut) =>
  cut
    .map((bits, i) => ({ at: i + 1, bits: bits - whole[i] }))
    .sort((a, b) => b.bits - a.bits)
    .slice(0, 3)
    .filter(({ bits }) => bits > AT_LEAST);
