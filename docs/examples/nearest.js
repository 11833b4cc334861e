// nearest.js - finds those of fifty sentences that mean nearly the same as a text
//
//   node nearest.js 'the weather is bad'                     downloads all-MiniLM-L6-v2 (91 MB) once
//   node nearest.js 'the weather is bad' path/to/a/model/    any sentence-embedding model
import { load } from 'glassformer';

const SENTENCES = [
  'It has been raining since the early morning.',
  'The sun is shining and there is not a cloud in the sky.',
  'Snow has closed the mountain road.',
  'A storm broke several trees in the park.',
  'Tomorrow will be warmer than today.',
  'She plays the violin in an orchestra.',
  'The concert was sold out within an hour.',
  'He hums the same song all day.',
  'Their new album has twelve tracks.',
  'Learning the piano takes years of practice.',
  'The soup needs more salt.',
  'We baked bread with olives and rosemary.',
  'My grandmother grows tomatoes on her balcony.',
  'The restaurant serves fish from the harbour.',
  'Breakfast is ready in five minutes.',
  'The train to Berlin leaves from platform nine.',
  'Our flight was delayed by three hours.',
  'He cycles to work along the river.',
  'The ferry crosses the bay twice a day.',
  'There is a traffic jam on the motorway.',
  'The central bank raised interest rates.',
  'She invested her savings in bonds.',
  'The company published its quarterly results.',
  'Prices of houses fell for the first time in years.',
  'He asked for a receipt.',
  'A kitten is asleep on the windowsill.',
  'The dog buried a bone in the garden.',
  'Whales sing to each other over great distances.',
  'A flock of geese flew over the lake.',
  'The farmer milks the cows before sunrise.',
  'The telescope discovered a planet around a distant star.',
  'Water boils at a lower temperature in the mountains.',
  'The vaccine trains the immune system.',
  'Electrons move through the wire.',
  'The experiment was repeated ten times.',
  'The program stops with an error message.',
  'A neural network predicts the next word.',
  'I forgot the password of my account.',
  'The battery of the phone is empty.',
  'The website loads in less than a second.',
  'The striker scored in the last minute.',
  'She ran the marathon in under three hours.',
  'The match was cancelled because the pitch was frozen.',
  'They train at the swimming pool every evening.',
  'The referee showed him a red card.',
  'The novel tells the story of two sisters.',
  'The museum shows paintings of the seventeenth century.',
  'The teacher explained fractions with a cake.',
  'Parliament voted for the new law.',
  'The witness could not remember the date.',
];

const [text = 'the weather is bad', source = 'hf:sentence-transformers/all-MiniLM-L6-v2'] = process.argv.slice(2);
const model = await load(source, { cache: 'file' });
const { data, shape } = await model.embed(SENTENCES, { normalize: true });
const { data: query } = await model.embed(text, { normalize: true });
const size = shape[1];
const cosines = SENTENCES.map((sentence, i) => ({
  sentence,
  cosine: query.reduce((sum, x, j) => sum + x * data[i * size + j], 0),
}));
for (const { sentence, cosine } of cosines.sort((a, b) => b.cosine - a.cosine).slice(0, 5))
  console.log(cosine.toFixed(3), sentence);
model.dispose();
