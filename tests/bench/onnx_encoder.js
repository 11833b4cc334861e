// onnx_encoder.js - an encoder of BERT's architecture as an ONNX file for onnxruntime-web, with the weights of a model
// of this engine
//
// The operations are the fused ones of the domain com.microsoft (MultiHeadAttention, SkipLayerNormalization, Gelu) to
// which onnxruntime's optimiser brings a graph. Matrix products as onnx.js says. Input: input_ids [batch, n] int64.
// Output: hidden [batch, n, d_model], the last hidden states.
import { FLOAT, Graph, INT64, floatAttribute, integerAttribute } from './onnx.js';

/**
 * @param {import('../../web/lib/api/model.js').Model} model  an encoder loaded as f32
 * @param {'int8' | 'f32'} type  of the weights in the file
 * @returns {Promise<Uint8Array>} the file
 */
export async function encoderFile(model, type) {
  const { nLayers, nHeads, dModel: d, normEps: eps } = model.config;
  const graph = new Graph();
  const matrix = async (/** @type {string} */ name) => {
    const { data, shape } = await model.matrix(name);
    return { name, shape, data };
  };
  const vector = async (/** @type {string} */ name) => {
    const data = await model.weight(name);
    return graph.constant(name, [data.length], data);
  };
  const table = async (/** @type {string} */ name) => {
    const { data, shape } = await model.matrix(name);
    return graph.constant(name, shape, data);
  };
  /** Products of x with matrices, each with its bias. */
  const linear = async (/** @type {string} */ x, /** @type {string[]} */ names) => {
    const outputs = graph.products(type, x, await Promise.all(names.map((name) => matrix(`${name}.weight`))));
    return Promise.all(outputs.map(async (output, i) => graph.node('Add', [output, await vector(`${names[i]}.bias`)])));
  };
  const epsilon = [floatAttribute('epsilon', eps)];
  /** LayerNorm of x, or of the sum of x and y. */
  const norm = async (/** @type {string} */ name, /** @type {string[]} */ ...inputs) =>
    graph.node(
      inputs.length > 1 ? 'SkipLayerNormalization' : 'LayerNormalization',
      [...inputs, await vector(`${name}.weight`), await vector(`${name}.bias`)],
      { attributes: epsilon, ...(inputs.length > 1 && { domain: 'com.microsoft' }) },
    );

  const ids = graph.input('input_ids', INT64, ['batch', 'n']);
  const words = graph.node('Gather', [await table('embed.weight'), ids]);
  const zero = graph.constant('zero', [1], BigInt64Array.of(0n)),
    one = graph.constant('one', [1], BigInt64Array.of(1n));
  const length = graph.node('Slice', [
    graph.node('Shape', [ids]),
    one,
    graph.constant('two', [1], BigInt64Array.of(2n)),
  ]);
  const positions = graph.node('Slice', [await table('position.weight'), zero, length, zero]);
  const types = graph.node('Slice', [await table('token_type.weight'), zero, one, zero]);
  const sum = graph.node('Add', [graph.node('Add', [words, positions]), types]);
  let x = await norm('embed_norm', sum);
  for (let l = 0; l < nLayers; l++) {
    const part = (/** @type {string} */ name) => `blocks.${l}.${name}`;
    const qkv = await linear(x, ['attn.q', 'attn.k', 'attn.v'].map(part));
    const attended = graph.node('MultiHeadAttention', qkv, {
      domain: 'com.microsoft',
      attributes: [integerAttribute('num_heads', nHeads)],
    });
    const [out] = await linear(attended, [part('attn.o')]);
    x = await norm(part('norm1'), x, out);
    const [up] = await linear(x, [part('ffn.up')]);
    const [down] = await linear(graph.node('Gelu', [up], { domain: 'com.microsoft' }), [part('ffn.down')]);
    x = await norm(part('norm2'), x, down);
  }
  graph.node('Identity', [x], { outputs: [graph.output('hidden', FLOAT, ['batch', 'n', d])] });
  return graph.file('encoder');
}
