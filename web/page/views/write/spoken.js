// spoken.js - what a screen reader hears of the text: not each token, but what is new once the text rests

import { endedSaid, pausedSaid } from '../../text/write.js';

/** Remembers what was heard already. */
export function createSpoken() {
  /** @type {import('../../state/state.js').Token[]} */
  let heard = [];

  /**
   * The sentence for this state, null where there is nothing new to say.
   * @param {Pick<import('../../state/state.js').State, 'text' | 'run'>} state
   * @returns {string | null}
   */
  return ({ text: { tokens }, run: { status, speed, stopReason } }) => {
    if (status !== 'paused' && status !== 'done') return null;
    const written = tokens.filter((t) => !t.given);
    if (!written.length) return null;
    let same = 0;
    while (same < heard.length && heard[same] === written[same]) same++;
    const fresh = written
      .slice(same)
      .map((t) => t.text)
      .join('');
    const step = status === 'paused' && written.length === same + 1;
    heard = written;
    if (step) return fresh;
    const said = status === 'done' ? endedSaid(stopReason) : pausedSaid;
    return `${said(written.length, speed.tokensPerSecond)}. ${fresh}`;
  };
}
