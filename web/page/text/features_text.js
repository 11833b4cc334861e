// features_text.js - sentences of the view Features: the sparse dictionary of the story model
import { bytes, figures, percent } from './format.js';
import { say } from '../state/base/language.js';

export const FEATURES_WORDS = {
  title: say`Features`,
  about: say`directions that each token activates few of: a sparse dictionary of layer 4 of the story model`,
  open: say`Load model and dictionary`,
  needs: (size) => say`This loads the story model and its dictionary, ${bytes(size)}, in a worker of its own.`,
  loading: say`Loading …`,
  text: say`Text`,
  read: say`Read the text`,
  press: say`Press a token: its features follow, the strongest first.`,
  none: say`The first position has no features: its values are many times as large as those of others.`,
  feature: (index) => say`Feature ${index}`,
  strength: (value) => say`activation ${figures(value)}`,
  density: (share) => say`active at ${percent(share)} of the tokens`,
  histogram: say`How often each strength of activation occurs`,
  histogramSaid: (most) => say`Counts of activations from 0 to ${figures(most)}`,
  top: say`Strongest places`,
  middle: say`Places from the middle of the range`,
  promotes: say`Raises the logits of`,
  suppresses: say`Lowers the logits of`,
  dose: say`Change of the activation`,
  multiples: say`in multiples of the largest one`,
  write: say`Write three texts`,
  stop: say`Stop`,
  plain: say`Unedited`,
  edited: (index, dose) => say`Feature ${index}, ${dose > 0 ? '+' : ''}${figures(dose)}`,
  random: (index, dose) => say`A random feature (${index}), ${dose > 0 ? '+' : ''}${figures(dose)}`,
  control: say`A large change of any direction changes the text: only what the random feature does not do is the feature's.`,
  noNames: say`The features have no names here. Read the middle of the range before you give one: a name that fits the strongest places often does not fit the others.`,
};
