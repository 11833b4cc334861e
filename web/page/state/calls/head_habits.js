// head_habits.js - measures the habits of the heads of a decoder, by the scores of the library on random tokens that
// come twice

const LEAST = 0.4; // mean weight from which a head is said to have a habit

/**
 * @typedef {'previous' | 'first' | 'same' | 'after'} Habit
 * @typedef {Record<Habit, number>} Scores  mean weight of the queries of the second copy
 */

/**
 * The habit that a head has, null where it has none.
 * @param {Scores | undefined} scores
 */
export function habitOf(scores) {
  const all = /** @type {[Habit, number][]} */ (Object.entries(scores ?? {}));
  const [habit, score] = all.sort((a, b) => b[1] - a[1])[0] ?? [];
  return habit && score >= LEAST ? { habit, score } : null;
}

/**
 * Measure the habits of this model, once. Encoders and models of two stacks have none of them.
 * @param {import('../store/runtime.js').Runtime} runtime
 */
export async function wantHabits(runtime) {
  const { config, api } = runtime.loaded();
  const { engine, attention } = runtime.state,
    { weights } = engine;
  if (attention.habitsFor === weights || config.kind !== 'decoder' || config.causal === false || config.vocabSize < 3)
    return;
  runtime.set({ attention: { habitsFor: weights } });
  const scores = await api.headScores().catch(() => null); // it is gone
  if (!scores || weights !== engine.weights) return;
  const habits = scores.map((/** @type {any[]} */ heads) =>
    heads.map(({ previous, first, self, duplicate, induction }) => ({
      previous,
      first,
      same: self + duplicate,
      after: induction,
    })),
  );
  runtime.set({ attention: { habits } });
}
