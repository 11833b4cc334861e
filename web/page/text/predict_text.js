// predict_text.js - the texts and sentences of "Predict, then reveal"
import { figures, percent } from './format.js';
import { say } from '../state/base/language.js';

/** Short stories of our own, which no model has read. */
export const STORIES = [
  'Ben had a small green frog. Every day he gave the frog some water and a leaf. One day the frog jumped out of the box and ran to the door. Ben looked under the bed and behind the chair. Then he heard a sound from the kitchen. The frog was sitting in the sink and it was very happy.',
  'Mia wanted to bake a cake for her mom. She put eggs, milk and sugar into a big bowl. Her little brother wanted to help, but he dropped an egg on the floor. Mia was not angry. She gave him a towel and they cleaned the floor together. The cake was good and mom gave them a big hug.',
  'It was raining and the bird could not fly. Its wings were wet and cold. A kind cat saw the bird under a tree. The bird was scared because cats like to eat birds. But the cat smiled and said, "Come with me." They sat in the warm barn until the sun came out again.',
];

export const PREDICT = {
  title: say`Predict, then reveal`,
  about: say`you guess the next word, and so does the model`,
  how: say`Read the text and type the word that you expect next. The score of a guess is its surprise to the model: minus the base-2 logarithm of the probability that the model gives it, in bits. Fewer bits are better.`,
  label: say`the next word`,
  guess: say`Guess`,
  next: say`Next word`,
  again: say`Another text`,
  empty: say`Type a word first.`,
  notDecoder: say`This game needs a model that predicts the next word.`,
  result: {
    you: (word, p) => say`Your guess ${word}: probability ${percent(p)}, ${bits(p)}.`,
    model: (word, p) => say`The model’s most likely ${word}: probability ${percent(p)}, ${bits(p)}.`,
    text: (word, p) => say`The text goes on with ${word}: probability ${percent(p)}, ${bits(p)}.`,
    knew: (layer, layers) =>
      layer > layers
        ? say`No layer of the model had that word first.`
        : say`The logit lens ranks that word first from layer ${layer} of ${layers} onward.`,
  },
  tally: (/** @type {{ rounds: number, you: number, model: number, yourBits: number, modelBits: number }} */ t) =>
    say`After ${t.rounds} ${t.rounds === 1 ? say`word` : say`words`}: you ${t.you} right, ${figures(t.yourBits)} bits; the model ${t.model} right, ${figures(t.modelBits)} bits.`,
};

const bits = (p) => say`${figures(-Math.log2(p))} bits`;

/** A word without its blank in quotes. */
export const word = (text) => `“${text.trim()}”`;
