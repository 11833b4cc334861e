// conversation.js - a conversation with a model, and what is inside it: shared by the adapters

/** @import { Model } from '../../api/model.js' */
/** @import { Step, Tensor } from '../../api/index.js' */
/** @typedef {{steps: ReturnType<Model['chat']>, promptIds: () => Promise<number[]>}} Answering */

/** Options of chat that say how the conversation is written. */
const WRITING = ['tools', 'toolChoice', 'parallelToolCalls', 'template', 'continue'];

/**
 * The texts of parts, one a line.
 * @param {{type: string, text?: string}[]} parts
 */
export const textOf = (parts) =>
  parts
    .map(({ type, text }) => {
      if (type !== 'text') throw new TypeError(`glassformer reads texts only, not parts of the type ${type}`);
      return text;
    })
    .join('\n');

/**
 * One vector of length 1 for each input.
 * @param {Model} model
 * @param {readonly (string | number[])[]} inputs
 * @param {AbortSignal} [signal]
 */
export async function vectorsOf(model, inputs, signal) {
  const { data, shape } = await model.embed(inputs, { normalize: true, signal });
  return inputs.map((_, i) => Array.from(data.subarray(i * shape[1], (i + 1) * shape[1])));
}

/**
 * Begin an answer. A model without a chat template continues the contents of the messages, one a line.
 * @param {Model} model
 * @param {any[]} messages
 * @param {Record<string, any>} options  options of chat; undefined ones count as absent
 * @returns {Answering}
 */
export function answer(model, messages, options) {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const writing = Object.fromEntries(Object.entries(given).filter(([name]) => WRITING.includes(name)));
  if (model.chatTemplate || Object.keys(writing).length)
    return {
      steps: model.chat(messages, given),
      promptIds: async () => (await model.prompt(messages, writing)).ids,
    };
  const text = messages.map(({ content }) => (Array.isArray(content) ? textOf(content) : content)).join('\n');
  return { steps: model.generate(text, given), promptIds: () => model.encode(text) };
}

/**
 * The steps with the text of each that is no part of a call. A tail that looked like a call comes with the last one.
 * @param {Answering} answering
 * @returns {AsyncGenerator<{step: Step | null, content: string}, void>}  step: null of the tail
 */
export async function* contents({ steps }) {
  let delivered = '';
  for await (const step of steps) {
    const content = step.content ?? step.text;
    delivered += content;
    yield { step, content };
  }
  const { content, text } = await steps.result;
  const rest = (content ?? text).slice(delivered.length);
  if (rest) yield { step: null, content: rest };
}

/**
 * What is inside a model when it reads a sequence: other programs give no access to it.
 * @param {Model} model
 * @param {number[]} ids  of a message with what precedes it, such as `providerMetadata.glassformer.ids`
 * @returns {{ids: number[], attention: (layer: number) => Promise<Tensor>, lens: (top?: number) =>
 *   ReturnType<Model['logitLens']>}} attention: the pattern of each head [head, query, key]; lens: the most likely
 *   tokens after each layer, [layer][position][rank]
 */
export const inside = (model, ids) => ({
  ids,
  async attention(layer) {
    const point = `blocks.${layer}.attn.hook_pattern`;
    return (await model.forward(ids, { capture: [point] })).captured[point];
  },
  lens: (top = 5) => model.logitLens(ids, { top }),
});
