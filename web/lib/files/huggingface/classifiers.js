// classifiers.js - the heads of classification in checkpoints of Hugging Face: of a text, or of each of its tokens
//
// A head takes the place of the head of the vocabulary (config fields n_labels, label_pooling, label_transform).
// Source: the classes ...ForSequenceClassification and ...ForTokenClassification of transformers 5.24, and CrossEncoder
// of sentence-transformers 6.2 for the activation of scores.
import { activation, conventionsOf, like } from './families_common.js';
import { fail, show } from '../../base/errors.js';

/** @import { Family, Json, Unsupported } from './families_common.js' */
/**
 * The labels of a classifier. activation: what makes scores of logits, unless a call names another one; pad, eos: ids
 * of the tokens that mark where a decoder's classifier reads; start: the first token of an encoder-decoder's target,
 * null: the last one of its source.
 * @typedef {{names: string[], activation: 'softmax' | 'sigmoid' | 'none', pad: number | null, eos: number | null,
 *   start: number | null}} Labels
 */
/**
 * What a head of a family needs: fields of the configuration, and names of its tensors.
 * @typedef {{fields: Json, names: Record<string, string>, reads?: string}} Head
 */
/** @typedef {(json: Json, unsupported: Unsupported) => Head} HeadOf */

/** A matrix behind the pooler (BERT). */
const POOLER = {
  fields: { label_pooling: 'pooler', pooler: true },
  names: { pooler: 'pooler.dense', head: '/classifier' },
};
/**
 * A layer on the state of the first token.
 * @param {string} act  the engine's name of its activation
 */
const first = (act) => ({
  fields: { label_pooling: 'first', label_transform: act },
  names: { head_transform: '/classifier.dense', head: '/classifier.out_proj' },
});
/** The tokens' states themselves. */
const EACH = { fields: {}, names: { head: '/classifier' } };

/** Kinds of pooling by their name in config.json. @type {Record<string, string>} */
const POOLINGS = { cls: 'first', bos: 'first', mean: 'mean' };

/**
 * The pooling that config.json names.
 * @param {Json} json
 * @param {string} usual
 * @param {Unsupported} unsupported
 */
function poolingOf(json, usual, unsupported) {
  const { classifier_pooling: name = usual } = json;
  return Object.hasOwn(POOLINGS, name) ? POOLINGS[name] : unsupported('classifier_pooling', name);
}

/** The layer between ModernBERT's states and its heads. @param {Json} json */
const modernBert = (json) => ({
  fields: { label_transform: activation(json.classifier_activation ?? 'gelu'), label_norm: true },
  names: { head_transform: '/head.dense', head_norm: '/head.norm', head: '/classifier' },
  reads: 'classifier_pooling classifier_activation classifier_bias decoder_bias',
});

/** Heads of a text by model_type; of decoders, which are not here, a matrix. @type {Record<string, HeadOf>} */
const OF_TEXT = {
  bert: () => POOLER,
  ernie: () => POOLER,
  'megatron-bert': () => POOLER,
  nomic_bert: () => POOLER,
  albert: () => ({ ...POOLER, names: { head: '/classifier' } }),
  rembert: () => POOLER,
  'roberta-prelayernorm': () => first('tanh'),
  'data2vec-text': () => first('tanh'),
  big_bird: (json) => first(activation(json.hidden_act ?? 'gelu_new')),
  roberta: () => first('tanh'),
  'xlm-roberta': () => first('tanh'),
  camembert: () => first('tanh'),
  'xlm-roberta-xl': () => first('tanh'),
  jina_embeddings_v3: () => first('tanh'),
  mpnet: () => first('tanh'),
  electra: () => first('gelu_erf'),
  roformer: (json) => first(activation(json.hidden_act ?? 'gelu')),
  distilbert: () => ({ ...first('relu'), names: { head_transform: '/pre_classifier', head: '/classifier' } }),
  modernbert(json, unsupported) {
    const { fields, ...rest } = modernBert(json);
    return { fields: { ...fields, label_pooling: poolingOf(json, 'cls', unsupported) }, ...rest };
  },
  eurobert: (json, unsupported) => ({
    fields: { label_pooling: poolingOf(json, 'late', unsupported), label_transform: 'gelu_erf' },
    names: { head_transform: '/dense', head: '/classifier' },
    reads: 'classifier_pooling clf_pooling',
  }),
};
/** @type {Record<string, HeadOf>} */
const OF_TOKENS = { modernbert: modernBert };

/** A matrix on the state of the last token that is no padding. */
const SCORE = { fields: { label_pooling: 'last' }, names: { head: '/score' } };
/** The classifier of an encoder-decoder, behind a layer. */
const OF_TARGET = {
  fields: { label_pooling: 'last', label_transform: 'tanh' },
  names: { head_transform: '/classification_head.dense', head: '/classification_head.out_proj' },
};

/**
 * The head that a checkpoint has; null where it has none.
 * @param {Json} json
 * @param {Family} family
 * @param {Set<string> | undefined} tensors  names in the checkpoint
 * @param {Unsupported} unsupported
 * @returns {Head | null}
 */
function headOf(json, family, tensors, unsupported) {
  const architecture = [json.architectures ?? []].flat()[0];
  const isOfTokens = /ForTokenClassification$/.test(architecture);
  if (!isOfTokens && !/ForSequenceClassification$/.test(architecture)) return null;
  const has = (/** @type {Head} */ { names }) => !tensors?.size || tensors.has(`${names.head.slice(1)}.weight`);
  const { kind = 'decoder' } = family.base;
  const type = json.model_type;
  const ofText = kind === 'decoder' ? () => SCORE : kind === 'encoder' ? OF_TEXT[type] : () => OF_TARGET;
  const ofTokens = kind === 'decoder' ? () => ({ ...EACH, names: SCORE.names }) : (OF_TOKENS[type] ?? (() => EACH));
  const found = isOfTokens ? [ofTokens(json, unsupported), EACH] : [ofText?.(json, unsupported)];
  return found.find((head) => head && has(head)) ?? null;
}

/**
 * The names of the labels, as id2label gives them; LABEL_0, ... where it does not.
 * @param {Json} json
 * @param {string} where  file name, for messages
 * @returns {string[]}
 */
function labelNames({ id2label: names, num_labels: n = 2 }, where) {
  if ((names ?? null) === null) {
    if (!Number.isInteger(n) || n < 1 || n > 65536) fail('bad-config', `${where}: num_labels is ${show(n)}`);
    return Array.from({ length: n }, (_, i) => `LABEL_${i}`);
  }
  const ids = typeof names === 'object' ? Object.keys(names) : [];
  const list = ids.map((_, i) => names[i]);
  return ids.length && list.every((name) => typeof name === 'string')
    ? list
    : fail('bad-config', `${where}: id2label is ${show(names)}, expected a text for each number from 0 on`);
}

/** Keys of sentence-transformers, its present one and an older one. */
const SCORING = ['sentence_transformers', 'sbert_ce_default_activation_function'];

/** What transformers calls the kinds of problem. @type {Record<string, Labels['activation']>} */
const PROBLEMS = {
  single_label_classification: 'softmax',
  multi_label_classification: 'sigmoid',
  regression: 'none',
};

/**
 * What makes scores of logits: the kind of problem that config.json names, or what CrossEncoder of
 * sentence-transformers does, a sigmoid of a single label unless the files say otherwise.
 * @param {Json} json
 * @param {number} n  labels
 * @returns {Labels['activation']}
 */
function scoringOf(json, n) {
  const [own, older] = SCORING.map((key) => json[key]);
  const given = own?.activation_fn ?? older;
  return activationNamed(given) ?? PROBLEMS[json.problem_type] ?? (n === 1 ? 'sigmoid' : 'softmax');
}

/**
 * The activation of scores that files of sentence-transformers name: torch.nn.modules.linear.Identity.
 * @param {unknown} name
 * @returns {Labels['activation'] | undefined}
 */
export function activationNamed(name) {
  const [, last] = /^torch\..*\b(Identity|Sigmoid|Softmax)$/.exec(String(name)) ?? [];
  return /** @type {Record<string, Labels['activation']>} */ ({
    Identity: 'none',
    Sigmoid: 'sigmoid',
    Softmax: 'softmax',
  })[last];
}

/** Encoder-decoders whose target begins with the last token of the source, that of its language. */
const OWN_STARTS = new Set(['mbart', 'plbart']);
/** Tensors of a head of the vocabulary, which a head of classification replaces. */
const OTHER_HEADS = '^(lm_head|cls|vocab_(transform|layer_norm|projector)|final_logits_bias)\\b';

/**
 * The family of a checkpoint with a head of classification: the head's tensors have a place, and its labels are known.
 * @param {Family} family
 * @param {Json} json
 * @param {Set<string> | undefined} tensors  names in the checkpoint
 * @param {string} where  file name, for messages
 * @returns {{family: Family, labels: Labels | null}} labels null: the family itself
 */
export function withClassifier(family, json, tensors, where) {
  /** @type {Unsupported} */
  const unsupported = (key, value) => fail('unsupported', `${where}: ${key} ${show(value)} is not supported`);
  const head = headOf(json, family, tensors, unsupported);
  if (!head) return { family, labels: null };
  const names = labelNames(json, where);
  const stems = Object.values(head.names).map((name) => name.replace('/', ''));
  const bias = `${head.names.head.slice(1)}.bias`;
  const fields = {
    ...{ n_labels: names.length, mlm_head: false, logit_scale: 1, logit_softcap: 0 },
    ...head.fields,
    bias_head: tensors?.size
      ? tensors.has(bias)
      : head.fields.label_pooling !== 'last' || 'label_transform' in head.fields,
  };
  const { tie_word_embeddings: tie, bias_head: _, logit_scale: scale, logit_softcap: cap, ...keys } = family.keys;
  const own = like(
    { ...family, keys },
    {
      base: { tie_word_embeddings: false },
      reads: ['problem_type num_labels', ...SCORING, family.reads, tie, scale, cap, head.reads]
        .filter(Boolean)
        .join(' '),
      derive: (given, refuse, files) => ({ ...family.derive(given, refuse, files), ...fields }),
      names: { ...head.names, 'head.bias': `/${bias}` },
      conventions: (files) => ({ ...conventionsOf(family, files), biasRow: false, colsOfHead: false }),
      others: new RegExp(`^(?!(?:${stems.join('|')})\\.)(?:${family.others?.source ?? '(?!)'}|${OTHER_HEADS})`),
    },
  );
  const start = OWN_STARTS.has(json.model_type) ? null : (json.decoder_start_token_id ?? null);
  const special = { pad: json.pad_token_id ?? null, eos: json.eos_token_id ?? null, start };
  return { family: own, labels: { names, activation: scoringOf(json, names.length), ...special } };
}
