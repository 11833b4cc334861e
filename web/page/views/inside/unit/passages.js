// passages.js - short texts in which a neuron or a head is looked for: where it responds most strongly
import { hasTwoStacks } from '../../../state/facts/architecture.js';
import { hasOnlyNumbers } from '../../../state/facts/shipped_models.js';

const TEXTS = [
  'Once upon a time, there was a little girl named Lily. She liked to play in the park with her dog. One day, she found a red ball under a big tree.',
  'Tom was sad because he lost his toy car. His mom said, "Do not cry, Tom. We can look for it together." They looked under the bed, and there it was!',
  'The old king had three sons. The first was strong, the second was clever, and the third was kind to every animal in the forest.',
  'It rained all night. In the morning the street was full of water, so the children put on their boots and jumped into the biggest puddle.',
  'Where does the sun go in the evening? Grandma smiled and said that it only looks as if it goes away. The earth turns, and then it is night.',
  'Anna gave the book to Ben, and Ben gave Anna a blue pen. Then they shared an apple, two cookies and a cup of warm milk.',
  'In 1969, people walked on the moon for the first time. They took 21 kilograms of stones home and left a small flag there.',
  'The cat did not want to swim. The fish did not want to fly. But the duck could swim and fly and walk, and she was very proud of it.',
  'He ran faster and faster, past the shop, past the school, over the bridge. When he came home the door was open and nobody was there.',
  'To make soup, cut the carrots and the onions, put them into a pot with water, add some salt, and wait until everything is soft.',
  'The doctor listened to her heart and looked into her ears. “You are healthy,” he said, “but you should sleep more and eat less sugar.”',
  'At the end of the day the friends were tired but happy. They hugged, said goodbye, and promised to meet again. The end.',
];
const RANDOM = 6; // passages of a model without words
const LENGTH = 24; // tokens of these

/** Numbers that look random, the same each time. @param {number} seed */
const random = (seed) => () => (seed = (seed * 48271) % 2147483647) / 2147483647;

/**
 * What a model reads: its own kind of text. A model of two stacks writes its answers to its examples, one of numbers
 * reads numbers.
 * @typedef {{ ids: number[], source?: number[] }} Passage
 * @param {import('../../../state/calls/page_calls.js').Calls} calls
 * @param {import('../../../state/store/state.js').State} page
 * @param {AbortSignal} signal
 * @returns {Promise<Passage[]>}
 */
export async function passagesFor(calls, { engine: { model }, text }, signal) {
  const { config, api, wordless } = /** @type {import('../../../state/store/state.js').LoadedModel} */ (model);
  const most = api.contextLength;
  if (hasTwoStacks(config)) {
    const given = text.tokens.slice(0, text.promptLength).map(({ id }) => id);
    const sources = [...new Set([text.source, ...text.examples])];
    return Promise.all(
      sources.map(async (words) => {
        const source = await calls.idsOf(words);
        const written = await calls.continuation(given, [], most - given.length, signal, undefined, {
          temperature: 0,
          source,
        });
        return { source, ids: [...given, ...written.map(({ id }) => id)] };
      }),
    );
  }
  if (!wordless && !hasOnlyNumbers(model))
    return Promise.all(TEXTS.map(async (words) => ({ ids: (await calls.idsOf(words)).slice(0, most) })));
  const next = random(7);
  const id = () => Math.floor(next() * config.vocabSize);
  return Array.from({ length: RANDOM }, () => ({ ids: Array.from({ length: Math.min(LENGTH, most) }, id) }));
}
