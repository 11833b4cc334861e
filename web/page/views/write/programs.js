// programs.js - makes the programs of “Copy as”: one for this package and one for TransformerLens
import { hasFfn, isGated } from '../../state/facts/architecture.js';
import { isSpecial } from '../../state/facts/special_tokens.js';
import { shownAttention } from '../../state/calls/shown_attention.js';
import { editsOf } from '../../state/facts/switchable_parts.js';
import { ACTIVATIONS, activationOf } from '../../text/ffn_text.js';

/** @typedef {import('../../state/store/state.js').State} State */

const json = JSON.stringify;
export const idsOf = (/** @type {{ id: number }[]} */ tokens) => tokens.map(({ id }) => id);
export const textOf = (/** @type {import('../../state/store/state.js').Token[]} */ tokens) =>
  tokens.map(({ id, text }) => (isSpecial(id) ? '' : text)).join('');
/** What it was loaded from, by an address that holds everywhere. @param {Partial<import('../../state/store/state.js').LoadedModel>} model */
export const sourceOf = ({ address }) => address && new URL(address, document.baseURI).href;

/** The text with the selected head, and how the prompt goes on without the parts that are off. @param {State} s */
export function asJavaScript(s) {
  const sampler = Object.entries(s.sampler).flatMap(([name, value]) => (value === false ? [] : `${name}: ${value},`));
  const { name, made, config, ...model } = s.engine.model ?? {};
  const given = s.text.tokens.filter((t) => t.given);
  const n = s.text.tokens.length - given.length || s.engine.maxTokens;
  // the encoder runs once, no step brings its rows
  const stack = s.attention.stack === 'encoder' ? 'self' : s.attention.stack;
  const point = json(`${shownAttention({ ...s, attention: { ...s.attention, stack } }).point}.hook_pattern`);
  const wordless = !given.some((t) => t.text);
  const prompt = json(s.text.prompt && !wordless ? s.text.prompt : idsOf(given)); // without words it begins with a token of its own
  const read = wordless && made ? idsOf(s.text.sourceTokens) : s.text.source;
  const source = config?.kind === 'encoder_decoder' ? `source: ${json(read)}, ` : '';
  const edits = editsOf(config, s.attention.off);
  const opened = made
    ? `create(${json(made.config)}, { seed: ${made.seed} })`
    : `load(${json(sourceOf(model) || name)})`;
  const row = (/** @type {string} */ query) => `const from = (${s.attention.head.head} * queries + ${query}) * keys;
  const row = data.subarray(from, from + keys);                     // head ${s.attention.head.head}, `;
  const text = s.text.pure
    ? `const run = model.generate(${prompt}, {
  ${source}maxTokens: ${n}, ${sampler.join(' ')}
  capture: [${point}],
});
for await (const step of run) {
  const { data, shape } = step.captured[${point}];   // [head, query, key]
  const [, queries, keys] = shape;
  ${row('queries - 1')}the newest query
  console.log(JSON.stringify(step.text), 'after reading', row.indexOf(Math.max(...row)));
}`
    : // tokens were chosen by hand, or the sampler was moved: no seed gives this text
      `const ids = ${json(idsOf(s.text.tokens))};
const { captured } = await model.forward(ids, { ${source}capture: [${point}] });
const { data, shape } = captured[${point}];   // [head, query, key]
const [, queries, keys] = shape;
for (let query = 0; query < queries; query++) {
  ${row('query')}one query
  console.log(ids[query], 'reads', row.indexOf(Math.max(...row)));
}`;
  const without = edits.length
    ? `
// the same prompt without the parts that were switched off, greedily
const edits = ${json(edits)};
for await (const step of model.generate(${prompt}, { ${source}maxTokens: 32, temperature: 0, edits })) console.log(JSON.stringify(step.text));
`
    : '';
  return `import { ${made ? 'create' : 'load'} } from 'glassformer';

const model = await ${opened};${sourceOf(model) || made ? '' : '   // the path of that file'}
${text}
${without}model.dispose();
`;
}

/** Classes of TransformerLens, and how they load weights as they are, where they can. */
const LENS = {
  decoder: ['HookedTransformer', 'from_pretrained_no_processing'],
  encoder: ['HookedEncoder', 'from_pretrained'],
  encoder_decoder: ['HookedEncoderDecoder', 'from_pretrained'],
};
/** Its words for ours; what it lacks has none. @type {Record<string, string>} */
const LENS_WORDS = { layernorm: 'LN', rmsnorm: 'RMS', rope: 'rotary', learned: 'standard' };

/** Fields of its configuration. @param {any} c */
const lensFields = (c) => ({
  ...{ n_layers: c.nLayers, n_heads: c.nHeads, d_model: c.dModel, d_head: c.dHead },
  ...{ d_vocab: c.vocabSize, n_ctx: c.contextLength, eps: c.normEps, normalization_type: LENS_WORDS[c.norm] },
  ...(c.nKvHeads !== c.nHeads && { n_key_value_heads: c.nKvHeads }),
  ...(hasFfn(c)
    ? { d_mlp: c.dFf, act_fn: ACTIVATIONS[activationOf(c.ffn)].lens, gated_mlp: Number(isGated(c)) }
    : { attn_only: 1 }),
  positional_embedding_type: LENS_WORDS[c.position],
  ...(c.position === 'rope' && { rotary_base: c.ropeTheta, rotary_adjacent_pairs: Number(c.ropePairs === 'adjacent') }),
});

/** The selected head in one pass of TransformerLens over these tokens, also without the parts that are off. @param {State} s */
export function asPython(s) {
  const { name, config, ...model } = /** @type {import('../../state/store/state.js').LoadedModel} */ (s.engine.model);
  const [lens, load] = LENS[/** @type {'decoder'} */ (config.kind)];
  const hub = /^hf:(?:openai-community\/(?=gpt2))?([\w.-]+(?:\/[\w.-]+)?)/.exec(model.address)?.[1];
  const two = config.kind === 'encoder_decoder';
  const { point, queries } = shownAttention(s);
  const listed = (/** @type {State['text']['tokens']} */ tokens) =>
    `torch.tensor([${json(idsOf(tokens))}])  # ${json(textOf(tokens))}`;
  const fields = Object.entries(lensFields(config)).map(([key, value]) => `${key}=${json(value) ?? 'None'}`);
  const made = `# TransformerLens does not list this model, ${sourceOf(model) || name}. Where it has the
# architecture, one of these sizes takes the weights, which model.matrix of glassformer has by its names for them.
model = HookedTransformer(HookedTransformerConfig(
    ${fields.join(',\n    ')},
))`;
  const off = editsOf(config, s.attention.off).map(
    ({ at, head = 'slice(None)', index = head }) => `(${json(at)}, off(${index}))`,
  );
  return `import torch
from transformer_lens import ${hub ? lens : 'HookedTransformer, HookedTransformerConfig'}

${hub ? `model = ${lens}.${load}(${json(hub)})` : made}
${two ? `source = ${listed(s.text.sourceTokens)}\n` : ''}tokens = ${listed(s.text.tokens)}
logits, cache = model.run_with_cache(${two ? 'source, tokens' : 'tokens'})
pattern = cache[${json(`${point}.hook_pattern`)}][0, ${s.attention.head.head}]  # [query, key]
for token, row in zip(${queries === s.text.tokens ? 'tokens' : 'source'}[0].tolist(), pattern):
    print(token, "reads", row.argmax().item())
${
  off.length
    ? `
# the same text without the parts that were switched off
def off(place):
    def hook(values, hook):
        values[:, :, place] = 0
        return values
    return hook
logits = model.run_with_hooks(${two ? 'source, tokens' : 'tokens'}, fwd_hooks=[${off.join(', ')}])
print(logits[0, -1].argmax().item())
`
    : ''
}`;
}
