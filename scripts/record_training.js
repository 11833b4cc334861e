// record_training.js - trains the model that the view Train offers first, on the text that it opens with, and writes what
// the page shows before a visitor has trained one: web/page/views/train/recorded_training.json
//
//   node scripts/record_training.js
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { train } from '../web/lib/api/index.js';
import { unigramLoss } from '../web/page/views/train/loss_curve.js';
import { RHYMES } from '../web/page/views/train/rhymes.js';
import { FIRST, HELD, stories, setupOf } from '../web/page/views/train/training_options.js';

const top = fileURLToPath(new URL('..', import.meta.url));
const STEPS = 400;
const SAMPLED = [1, 100, STEPS];
const POINTS = 100; // of the curve of the training loss
const DIGITS = 4;

const { config, options } = setupOf(FIRST);
const run = train(config, stories(RHYMES), { ...options, steps: STEPS, validation: HELD, validateEvery: STEPS / 20 });
const prompt = /\S+/.exec(RHYMES)[0];
const steps = [];
const samples = [];
let unigram = 0;
for await (const step of run) {
  steps.push(step);
  if (!SAMPLED.includes(step.step)) continue;
  const model = await run.model({ dtype: 'f32' });
  samples.push({
    step: step.step,
    prompt,
    text: (await model.complete(prompt, { maxTokens: config.context_length - 8, temperature: 0.6, seed: 1 })).text,
  });
  unigram = unigramLoss(await model.encode(RHYMES, { addSpecialTokens: false }));
  model.dispose();
}
const kept = steps.filter(({ step, validation }) => validation || step === 1 || step % (STEPS / POINTS) === 0);
const recorded = {
  total: STEPS,
  seed: options.seed,
  vocabulary: run.config.vocabSize,
  unigram,
  steps: kept.map(({ step, loss, tokens, validation }) => ({
    ...{ step, loss, tokens },
    ...(validation && { validation: { nats: validation.nats, bitsPerByte: validation.bitsPerByte } }),
  })),
  samples,
};
const shortened = (_, value) =>
  typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(DIGITS)) : value;
const json = JSON.stringify(recorded, shortened);
writeFileSync(`${top}web/page/views/train/recorded_training.json`, `${json}\n`);
console.log(`${kept.length} of ${steps.length} steps, ${json.length} characters`);
await run.dispose();
