// candidates.js - the rows of the panel "Next token"

import { cuts } from '../../state/facts/sampler_options.js';
import { drawnOf, following } from '../../state/facts/token_probabilities.js';
import { label } from '../../text/format.js';

export const ROWS = 10;

/**
 * The likeliest candidates after the selected token, null where nothing is known yet.
 * @param {Pick<import('../../state/store/state.js').State, 'text' | 'sampler' | 'engine'>} state
 */
export function nextOf(state) {
  const token = state.text.tokens[state.text.cursor];
  if (!token) return null;
  const next = following(state, ROWS);
  if (!next) return null;
  const drawn = drawnOf(state);
  const cutting = cuts(state.sampler);
  const most = Math.max(...next.candidates.flatMap((c) => [c.softmax ?? c.model, c.sampled ?? 0]), 1e-9);
  const rows = next.candidates.map((candidate) => ({
    candidate,
    word: wordOf(candidate, state.text.words),
    drawn: drawn?.id === candidate.id,
    out: candidate.sampled === 0 && cutting, // the sampler cannot draw it
    model: (candidate.softmax ?? candidate.model) / most, // length of its bar
    sampled: (candidate.sampled ?? 0) / most,
  }));
  return { ...next, rows };
}

/**
 * What a candidate adds to the text; an ellipsis until that is known.
 * @param {import('../../state/facts/token_probabilities.js').Candidate} candidate
 * @param {Map<number, string>} words
 */
export function wordOf({ id, text }, words) {
  const known = text || words.get(id);
  return known === undefined ? '…' : label({ text: known, id });
}
