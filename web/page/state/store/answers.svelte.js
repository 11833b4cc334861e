// answers.svelte.js - answers of the engine about the text that is there, each asked for once while the text rests

/**
 * A question about the text, as a text: '' while it is written, or where there is none.
 * @param {import('./context.js').PageContext} context
 * @param {...any} of  what else the answer depends on
 */
export function textQuestion({ page, calls }, ...of) {
  void [page.text.tokens, page.text.sourceTokens]; // they grow in place
  return page.engine.model && page.engine.status !== 'running' && page.text.tokens.length
    ? `${calls.textKey()}|${of.join(' ')}`
    : '';
}

/**
 * The answer to a question, asked again when the question changes. The last answer stays while there is no question, and
 * until the next one comes. Call while a component is created.
 * @template T
 * @param {() => string} question  reads the state; equal questions have equal answers, '' is none
 * @param {(signal: AbortSignal) => Promise<T>} ask  the signal: another question has come, or the component has gone
 * @param {{ everyMs?: number, restMs?: number, late?: boolean }} [waits]  between two questions, at least; that a question
 *   stays as it is before it is asked; whether an answer counts after another question has come, which waits for it.
 *   Questions that come faster than answers would have none otherwise
 * @returns {{ readonly to: string, readonly current: T | null, readonly failed: unknown }}  to: the question
 */
export function answerTo(question, ask, { everyMs = 0, restMs = 0, late = false } = {}) {
  let answer = $state.raw({ to: '', current: /** @type {T | null} */ (null), failed: /** @type {unknown} */ (null) });
  let answered = '';
  let askedAt = -Infinity;
  let underWay = Promise.resolve();
  const now = $derived(question());
  $effect(() => {
    const to = now;
    if (!to || to === answered) return;
    const job = new AbortController();
    const take = (/** @type {Partial<typeof answer>} */ found) => {
      if (job.signal.aborted && !late) return;
      answered = to;
      answer = { to, current: null, failed: null, ...found };
    };
    const timer = setTimeout(
      async () => {
        if (late) await underWay;
        if (job.signal.aborted) return;
        askedAt = performance.now();
        underWay = ask(job.signal).then(
          (current) => take({ current }),
          (failed) => take({ failed }),
        );
      },
      Math.max(restMs, askedAt + everyMs - performance.now()),
    );
    return () => {
      clearTimeout(timer);
      job.abort();
    };
  });
  return {
    get to() {
      return answer.to;
    },
    get current() {
      return answer.current;
    },
    get failed() {
      return answer.failed;
    },
  };
}

/**
 * Whether values at the positions of a text are of what is there now: the same text, or one that has grown where no
 * position sees what comes later.
 * @param {string} key  of their text
 * @param {string} now  that of the text that is there
 * @param {boolean} causal
 */
export const stillValid = (key, now, causal) => now === key || (causal && now.startsWith(`${key},`));

/**
 * Values at the positions of a text, asked for as an answer is. None while there is another text.
 * @template T
 * @param {import('./context.js').PageContext} context
 * @param {() => string} question  of textQuestion, or as it makes them
 * @param {() => Promise<T>} ask
 * @param {{ everyMs?: number, late?: boolean }} [waits]  of answerTo
 * @returns {{ readonly to: string, readonly current: T | null }}
 */
export function valuesOfText({ page, calls }, question, ask, waits) {
  const asked = answerTo(question, ask, waits);
  const to = $derived.by(() => {
    void [page.engine.model, page.text.tokens, page.text.sourceTokens];
    const [text] = asked.to.split('|');
    return text && stillValid(text, calls.textKey(), !!page.attention.patterns?.causal) ? asked.to : '';
  });
  return {
    get to() {
      return to;
    },
    get current() {
      return to ? asked.current : null;
    },
  };
}
