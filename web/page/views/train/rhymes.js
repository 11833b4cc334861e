// rhymes.js - the text that the training panel opens with: our own counting rhymes.
//
// All verses are made alike and no two say the same: who goes, where to, and how many go on when one sits down. Whoever
// only remembers them stumbles over the verses that are kept apart; whoever has learnt the rhyme counts those right
// too.

const NUMBERS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
const COLOURS = ['white', 'brown', 'gray', 'black', 'red', 'green', 'blue'];
const ANIMALS = ['ducks', 'bears', 'mice', 'cats', 'hens', 'frogs', 'birds', 'goats'];
const ROADS = ['down to the lake', 'up to the hill', 'out to the field', 'into the town', 'over the sea'];
const VERSES = 48;

/**
 * The lists have 9, 7, 8 and 5 entries, no two with a common factor: each comes with each before anything comes again.
 */
function verse(/** @type {number} */ i) {
  const n = NUMBERS[1 + (i % 9)],
    herd = `${COLOURS[i % 7]} ${ANIMALS[i % 8]}`;
  return `${n[0].toUpperCase()}${n.slice(1)} ${herd} went ${ROADS[i % 5]}.
One sat down and ${NUMBERS[i % 9]} went on,
and ${n} ${herd} came home.`;
}

export const RHYMES = Array.from({ length: VERSES }, (_, i) => verse(i)).join('\n\n');
