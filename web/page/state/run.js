// run.js - the model in hand and the text it writes: the page's one caller of the library.
//
// A text is a prompt and the tokens after it. The parts below change it; what they share is in shared.js.

import { estimate } from 'glassformer';
import { createBranching } from './branching.js';
import { createBroken } from './broken.js';
import { createExperiments } from './experiments.js';
import { createInquiry } from './inquiry.js';
import { createLoading } from './loading.js';
import { createReading } from './reading.js';
import { createRewinding } from './rewinding.js';
import { createRows } from './rows.js';
import { createShared } from './shared.js';
import { createWords } from './words.js';
import { createWriting } from './writing.js';

/** @param {import('./store.js').Store} store */
export function createRun(store) {
  const { state } = store;
  const shared = createShared(store);
  const { reads, has, fail, model } = shared;
  const words = createWords(store, fail);
  const { idsOf, textsOf, spell } = words;
  const inquiry = createInquiry(store, { turn: () => shared.turn, reads, has, fail });
  const rows = createRows(store, { turn: () => shared.turn, reads, fail });
  const { setPrompt, setSource } = createReading(shared, words);
  const { cut, rewind } = createRewinding(shared, setPrompt);
  const writing = createWriting(shared, { setPrompt, rewind, rows });
  const { run } = writing;
  const branching = createBranching(shared, { cut, run, spell, wantRows: rows.wantRows });
  const loading = createLoading(shared, { setPrompt, restore: branching.restore, run });

  return {
    ...inquiry,
    wantRows: rows.wantRows,
    ...createExperiments(store, reads),
    ...createBroken(store, reads),
    ...loading,
    ...writing,
    ...branching,
    reads,
    idsOf,
    spell,
    setPrompt,
    setSource,
    rewind,
    /**
     * A text's tokens with what each adds to it.
     * @param {string} text
     */
    async piecesOf(text) {
      const ids = await idsOf(text);
      const texts = await textsOf(ids);
      const { bos } = model().special;
      return ids.map((/** @type {number} */ id, /** @type {number} */ i) => ({ id, text: id === bos ? '' : texts[i] }));
    },
    /** Whether the model has this point. */
    has,
    /** What every number depends on: the model, what it reads, the text. Equal keys, equal numbers. */
    textKey: () => `${shared.models}: ${state.sourceTokens.map((t) => t.id)}: ${state.tokens.map((t) => t.id)}`,
    /** @param {number} n */
    costAt: (n) => estimate(shared.inHand().config, { contextLength: n, kvDtype: shared.inHand().kvDtype }),
  };
}

/** @typedef {ReturnType<typeof createRun>} Run */
