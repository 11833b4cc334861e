// sweep.js - processor time of a sweep against passes one by one: a head of each layer switched off in a model of GPT-2's
// size, over 35 tokens. Ratios of one run.
//
//   node tests/bench/sweep.js [DTYPE]
import { create } from '../../web/lib/index.js';

const LAYERS = 12;
const dtype = /** @type {'f32'} */ (process.argv[2] ?? 'f32');
const sizes = { vocab_size: 50257, d_model: 768, n_layers: LAYERS, n_heads: 12, context_length: 1024 };
const kind = {
  norm: 'layernorm',
  ffn: 'gelu_tanh',
  position: 'learned',
  bias_qkv: true,
  bias_attn_out: true,
  bias_ffn: true,
};
const model = await create(/** @type {any} */ ({ ...sizes, ...kind }), { seed: 1, dtype });
const ids = Array.from({ length: 35 }, (_, i) => (i * 977) % sizes.vocab_size);
const sets = Array.from({ length: LAYERS }, (_, l) => [{ at: `blocks.${l}.attn.hook_z`, head: 5, scale: 0 }]);
const metric = { token: 1 };

/** Milliseconds of processor time. @param {() => Promise<unknown>} call */
async function timed(call) {
  const from = process.cpuUsage().user;
  await call();
  return (process.cpuUsage().user - from) / 1000;
}
/** @param {Record<string, any>} options */
const loop = async (options) => {
  for (const edits of sets) await model.forward(ids, { edits, ...options });
};

await loop({ logits: 'last' }); // warms up
const all = await timed(() => loop({}));
const last = await timed(() => loop({ logits: 'last' }));
const clean = await timed(() => model.sweep(ids, [], { metric }));
const swept = (await timed(() => model.sweep(ids, sets, { metric }))) - clean;
const few = await timed(() => model.forward(ids, { logits: 'last' }));
const many = await timed(() => model.forward(ids));
console.log(`${dtype}: a set of edits by forward takes ${(all / swept).toFixed(1)} times what it takes in a sweep,`);
console.log(`with the logits of the last position ${(last / swept).toFixed(1)} times; logits of all positions make`);
console.log(`a pass ${(many / few).toFixed(1)} times longer. The pass without edits, once, is not counted.`);
