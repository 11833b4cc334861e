// branching.js - other texts beside the one that is there: another token is chosen, a text is taken up again or restored

import { logprob } from './likelihood.js';

/** Where two texts part: the first place at which they have not the same token.
 * @param {import('./store.js').Token[]} one @param {import('./store.js').Token[]} other */
export function parting(one, other) {
  let at = 0;
  while (at < one.length && one[at].id === other[at]?.id) at++;
  return at;
}

/**
 * @param {import('./shared.js').Shared} shared
 * @param {object} parts
 * @param {(n: number) => void} parts.cut
 * @param {() => Promise<void>} parts.run
 * @param {(ids: number[]) => Promise<void>} parts.spell
 * @param {() => Promise<void>} parts.wantRows
 */
export function createBranching(shared, { cut, run, spell, wantRows }) {
  const { state, set } = shared;

  /** Put another token after this position and go on from there; the text left behind is kept beside it.
   * @param {number} position @param {number} id */
  async function branch(position, id) {
    if (shared.reading || shared.inHand().config.kind === 'encoder') return;
    const mine = shared.turn;
    await spell([id]);
    const { tokens, branches } = state;
    const old = tokens[position + 1];
    if (mine !== shared.turn || old?.id === id) return;
    shared.turn++;
    void shared.close();
    const text = state.words.get(id) ?? '';
    const exact = state.logits.get(position),
      named = old?.top?.find((t) => t.id === id);
    if (old) branches.push({ at: position + 1, tokens: [...tokens] });
    cut(position + 1);
    tokens.push({ id, text, given: false, logprob: exact ? logprob(exact, id) : (named?.logprob ?? null), top: null });
    set({ tokens, branches, cursor: position, follow: true, status: 'paused', stopReason: '', pure: false });
    if (state.pace !== 'step') await run();
  }

  /**
   * Take up a text that was left behind; the present one is left in its place.
   * @param {number} i
   */
  async function takeUp(i) {
    if (shared.reading) return;
    const { tokens, branches } = state;
    const { tokens: old } = branches[i];
    const at = parting(tokens, old); // others may have been left behind since
    shared.turn++;
    void shared.close();
    branches[i] = { at: Math.min(at, tokens.length - 1), tokens: [...tokens] }; // it may be the other's beginning
    cut(at);
    tokens.push(...old.slice(at));
    set({ tokens, branches, cursor: at - 1, follow: false, status: 'paused', stopReason: '' });
    await wantRows();
  }

  /**
   * Put these ids after the prompt, or its first tokens, as an address may ask for.
   * @param {number[]} ids
   * @param {number} [kept]
   */
  async function restore(ids, kept = state.tokens.length) {
    const mine = shared.turn;
    await spell(ids);
    if (mine !== shared.turn) return;
    const { tokens } = state;
    shared.turn++;
    void shared.close();
    cut(kept);
    tokens.push(...ids.map((id) => ({ id, text: state.words.get(id) ?? '', given: false, logprob: null, top: null })));
    set({ tokens, status: 'paused', pure: false });
    await wantRows();
    set({ cursor: shared.rows().length - 1 });
  }

  return { branch, takeUp, restore };
}
