// features_text.js - sentences of the view Features: sparse dictionaries, shipped, trained here, and those of others
import { bytes, figures, int, percent, sentences, tokensSaid } from './format.js';
import { say } from '../state/base/language.js';

export const FEATURES_WORDS = {
  title: say`Features`,
  about: say`directions that each token activates few of: a sparse dictionary of layer 4 of the story model`,
  /** @param {import('../views/features/feature_session.svelte.js').Opened} opened */
  dictionaryOf: ({ dictionary, origin: { recipe, dictionary: source } }) => {
    const [size, at] = [int(dictionary.size), dictionary.at];
    if (recipe) return say`${size} directions at ${at}, trained here with seed ${recipe.seed}`;
    if (source === 'files') return say`${size} directions at ${at}, from your files`;
    return source
      ? say`${size} directions at ${at}, from ${source}`
      : say`${size} directions at ${at} of the story model`;
  },
  modelGone: say`Another model was opened; the dictionary belonged to the one before and was closed.`,
  open: say`Load model and dictionary`,
  needs: (size) => say`This loads the story model and its dictionary, ${bytes(size)}, in a worker of its own.`,
  loading: say`Loading …`,
  example: say`An example, recorded`,
  exampleAbout: (index) => say`where feature ${index} is active in a text; the bar is its activation`,
  text: say`Text`,
  read: say`Read the text`,
  press: say`Below each token is its strongest feature. Press a token to list its features, the strongest first.`,
  none: say`This position activates no feature. The first one has none by design where the dictionary was trained here: its values are many times as large as those of others.`,
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
  name: say`Your name for it`,
  nameHint: say`no name yet`,
  copy: say`Copy link`,
  elsewhere: (index) => say`Feature ${index} on Neuronpedia`,
  elsewhereAbout: say`another site, which opens in a new tab`,
  noNames: say`The features come without names. Read the middle of the range before you give one: a name that fits the strongest places often does not fit the others.`,
};

export const FEATURE_LINK = {
  /**
   * @param {import('../state/facts/feature_link.js').FeatureLink} link
   * @param {string} model  that is loaded
   */
  shows: ({ feature, names, dictionary, recipe }, model) => {
    const name = names[feature] && say`The link’s author calls it “${names[feature]}”.`;
    if (recipe?.text)
      return sentences([
        say`This link shows feature ${feature} of a dictionary that learned from the text “${recipe.text}”.`,
        name,
        say`Choose that text below and train again: the same model, text and seed give the same features.`,
      ]);
    if (recipe)
      return sentences([
        say`This link shows feature ${feature} of a dictionary that was trained at ${recipe.at}.`,
        name,
        say`Train it again below, on ${model}: the same model and seed give the same features.`,
      ]);
    if (dictionary === 'files')
      return sentences([
        say`This link shows feature ${feature} of a dictionary that its author has as files.`,
        name,
        say`Open them below.`,
      ]);
    if (dictionary)
      return sentences([
        say`This link shows feature ${feature} of ${dictionary}.`,
        name,
        say`Open its model, then fetch the dictionary below.`,
      ]);
    return sentences([
      say`This link shows feature ${feature} of the shipped dictionary.`,
      name,
      say`Load it to see the feature.`,
    ]);
  },
  /** @type {Record<'same' | 'dictionary' | 'weights' | 'unknown', (index: number) => string>} */
  verdict: {
    same: (index) => say`Dictionary and feature ${index} are those of the link: the SHA-256 is the same.`,
    dictionary: (index) =>
      say`This is not the dictionary of the link: its SHA-256 is another one. Feature ${index} of the link is not feature ${index} here, so it was not opened and its name was left out.`,
    weights: (index) =>
      say`The model’s weights are not those of the link: their SHA-256 is another one. Feature ${index} may be active elsewhere here.`,
    unknown: (index) =>
      say`Feature ${index} was opened, but nothing shows that the dictionary is that of the link: one of the two has no SHA-256.`,
  },
};

const progress = ({ tokens, of }) => say`${int(tokens)} of ${int(of)} tokens`;
export const TRAIN_DICTIONARY = {
  title: say`Train your own dictionary`,
  about: (model) => (model ? say`what ${model} has learnt, found in this tab` : say`found in this tab`),
  options: say`Options of the dictionary`,
  point: say`point`,
  /** @type {Record<string, string>} */
  points: {
    hook_resid_post: say`residual stream after the layer`,
    hook_mlp_out: say`output of the feed-forward layer`,
    hook_attn_out: say`output of the attention`,
    'mlp.hook_post': say`neurons of the feed-forward layer`,
  },
  layer: say`layer`,
  size: say`features`,
  k: say`active per token`,
  tokens: say`tokens to learn from`,
  seed: say`seed`,
  modelText: say`The model writes the texts.`,
  ownText: (name) => say`It learns from ${name}.`,
  letWrite: say`Let the model write`,
  openText: say`Use a text of yours`,
  start: say`Train a dictionary`,
  stop: say`Stop`,
  save: say`Save its files`,
  noModel: say`Load a model first.`,
  wordless: say`This model has no tokenizer, so it can read no text.`,
  decoders: say`A dictionary is trained here on decoders only.`,
  explained: say`The model writes texts, its activations are recorded, and a dictionary learns to describe each of them by a few of its directions (TopK, five passes). The same model, text and seed give the same dictionary on every machine.`,
  done: say`Tokens done`,
  /** @type {Record<'idle' | 'texts' | 'capture' | 'train' | 'done' | 'stopped', (at: { tokens: number, of: number }) => string>} */
  status: {
    idle: () => say`Training runs in this tab. Nothing leaves it.`,
    texts: (at) => say`The model writes texts: ${progress(at)}.`,
    capture: (at) => say`The texts are read: ${progress(at)}.`,
    train: (at) => say`The dictionary learns: ${progress(at)}.`,
    done: ({ of }) => say`Done, ${int(of)} tokens in five passes. Its features are above.`,
    stopped: ({ tokens }) => say`Stopped after ${tokensSaid(tokens)}. Nothing was kept.`,
  },
  learnt: say`tokens learnt from`,
  fvu: say`variance unexplained`,
  features: say`features`,
  fvuNow: (share) => say`unexplained: ${percent(share)}`,
  fvuSaid: (share) => say`Share of the variance that is unexplained, ${percent(share)} at the end`,
  l0: (n) => say`active per token: ${figures(n)}`,
  dead: (n) => say`never active: ${int(n)}`,
  countsSaid: (l0, dead) =>
    say`Active features per token, ${figures(l0)}, and features that are never active, ${int(dead)}`,
  report: (tokens, loss, dead) =>
    dead === 1
      ? say`On ${int(tokens)} held-out tokens, where the model’s own loss is ${figures(loss)} nats per token; 1 feature is active at none of them`
      : say`On ${int(tokens)} held-out tokens, where the model’s own loss is ${figures(loss)} nats per token; ${int(dead)} features are active at none of them`,
  description: say`described by`,
  loss: say`loss with it in place`,
  /** @type {Record<'dictionary' | 'table' | 'random' | 'mean', string>} */
  kinds: {
    dictionary: say`this dictionary`,
    table: say`each token’s mean alone`,
    random: say`as many random directions`,
    mean: say`the mean of all tokens`,
  },
};

export const OTHER_DICTIONARIES = {
  title: say`Dictionaries of others`,
  about: say`published ones, and files`,
  published: (name, size, licence) =>
    say`${name} (Google DeepMind, ${licence}) describes layer 13 of this model by 16,384 features. It is ${bytes(size)} to download and is kept in this browser; its encoder runs in 8 bits.`,
  fetch: (size) => say`Fetch it, ${bytes(size)}`,
  stop: say`Stop`,
  loaded: say`Bytes loaded`,
  gemma: say`Open Gemma 3 270M under Models, and its published dictionary of 16,384 features can be fetched here.`,
  files: say`Open its files`,
  folder: say`Open a folder`,
  format: (model) =>
    say`Files in the format of SAELens (cfg.json, sae_weights.safetensors) or of Gemma Scope 2 (config.json, params.safetensors), for ${model || say`the loaded model`}. A dictionary of another model is refused.`,
};
