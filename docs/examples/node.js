// node.js - a value that fits a schema, and what a head contributes to it: node node.js
import { load } from 'glassformer';

const model = await load('node_modules/glassformer/weights/stories-1m.gguf');
const json = {
  type: 'object',
  properties: { animal: { enum: ['cat', 'dog', 'bird'] }, age: { type: 'integer', minimum: 1, maximum: 20 } },
  required: ['animal', 'age'],
};
const { value } = await model.complete('The pet of Lily: ', { json, temperature: 0 });
console.log(`a ${value.animal} of ${value.age}`);

const prompt = 'Lily and Tim went to the park. Tim gave the ball to';
const { logit, parts } = await model.attribution(prompt, { token: ' Lily' });
const [best] = parts.toSorted((a, b) => b.value - a.value);
console.log(`the logit of Lily is ${logit.toFixed(1)}; most of it comes from ${best.name}`);
model.dispose();
