// bias_and_penalties.js - what is added to logits before a token is drawn: logit bias, presence and frequency penalty

/**
 * The sum of the caller's bias and of the penalties. As OpenAI defines them: a token that was generated c times loses
 * c * frequencyPenalty + presencePenalty, one that was not loses nothing.
 * @param {[id: number, bias: number][]} logitBias
 * @param {Map<number, number>} counts  how often each token was generated
 * @param {number} [presencePenalty]
 * @param {number} [frequencyPenalty]
 * @returns {{ids: number[], bias: number[], allowed: null}}
 */
export function biasOf(logitBias, counts, presencePenalty = 0, frequencyPenalty = 0) {
  const ids = logitBias.map(([id]) => id);
  const bias = logitBias.map(([, change]) => change);
  if (presencePenalty || frequencyPenalty) {
    for (const [id, n] of counts) {
      ids.push(id);
      bias.push(-(n * frequencyPenalty + presencePenalty));
    }
  }
  return { ids, bias, allowed: null };
}
