// own_texts.js - texts that a model writes by itself, of which a dictionary of it is learnt: no other text is as near to
// what it was trained on, and the same seed gives the same texts everywhere

const [TOGETHER, LENGTH] = [16, 256]; // texts of a call, and the tokens of each

/**
 * @param {import('glassformer').Model} api
 * @param {number} wanted  tokens, at least
 * @param {number} seed
 * @param {string} prompt  with which they begin where the model has no token for the beginning
 * @param {AbortSignal} signal
 * @param {(tokens: number) => void} onTokens  written so far
 * @returns {Promise<string[]>}
 */
export async function ownTexts(api, wanted, seed, prompt, signal, onTokens) {
  const begin = await api.encode('');
  const ids = begin.length ? begin : await api.encode(prompt);
  const length = Math.min(LENGTH, api.contextLength - ids.length);
  /** @type {string[]} */
  const texts = [];
  for (let tokens = 0; tokens < wanted;) {
    const together = Math.min(TOGETHER, Math.ceil((wanted - tokens) / length));
    const options = { maxTokens: length, temperature: 1, seed: seed + texts.length, signal };
    const { summaries } = /** @type {any} */ (await api.complete(Array(together).fill(ids), options));
    const opening = begin.length ? '' : prompt;
    for (const summary of summaries) {
      texts.push(opening + summary.text);
      tokens += Math.max(1, summary.ids.length);
    }
    onTokens(tokens);
  }
  return texts;
}
