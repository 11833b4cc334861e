// sentence_transformers.js - how an encoder's states become one vector, from the files of sentence-transformers
//
// modules.json lists the steps of a pipeline: the transformer, 1_Pooling, 2_Dense, 3_Normalize. A step or a kind of
// pooling that the engine lacks is noted, and Model.embed names it. Source: sentence-transformers 6.2.
import { isFileName } from '../bytes/file_name.js';
import { fail, show } from '../../base/errors.js';
import { readDense } from './dense_layer.js';

/** @import { Folder } from '../opened_files.js' */
/** @import { Opener } from '../source.js' */
/** @import { DenseLayer } from './dense_layer.js' */

/**
 * How embed makes one vector of the states of an encoder, as the model's files say.
 * @typedef {object} Pooling
 * @property {PoolingKind | readonly PoolingKind[] | null} pooling  several: their vectors, one after the other; null:
 *   the files prescribe something else, see `lacks`
 * @property {boolean} normalize         to length 1
 * @property {number | null} maxTokens   most tokens of a text, which is truncated to them; null: the context
 * @property {string | null} lacks       what the files prescribe and embed lacks; null: nothing
 * @property {Record<string, string>} [prompts]  texts that are put before others, by name
 * @property {string} [defaultPrompt]    the text that is put before others unless the caller names another one
 * @property {boolean} [includePrompt]   false: the tokens of such a text are left out of the pooling
 * @property {boolean} [lowerCase]       texts are read in lower case
 */
/**
 * The mean of all positions, that sum divided by the root of their number, their mean weighted by 1, 2, 3, ..., the
 * largest of each component, the state of the first or of the last position, or the pooler's output.
 * @typedef {'mean' | 'mean_sqrt_len' | 'weightedmean' | 'max' | 'cls' | 'last' | 'pooler'} PoolingKind
 */
/** @typedef {'normalize' | DenseLayer} PoolingStep */
/**
 * With what follows the pooling where it is more than `normalize`.
 * @typedef {Pooling & {steps?: PoolingStep[]}} OwnPooling
 */

/**
 * Kinds of pooling by pooling_mode in 1_Pooling/config.json. Older files have a flag for each, in whose order the
 * vectors of several kinds follow each other.
 * @type {Record<string, PoolingKind>}
 */
const MODES = {
  cls: 'cls',
  max: 'max',
  mean: 'mean',
  mean_sqrt_len_tokens: 'mean_sqrt_len',
  weightedmean: 'weightedmean',
  lasttoken: 'last',
};
/** @type {Record<string, string>} */
const FLAGS = {
  pooling_mode_cls_token: 'cls',
  pooling_mode_max_tokens: 'max',
  pooling_mode_mean_tokens: 'mean',
  pooling_mode_mean_sqrt_len_tokens: 'mean_sqrt_len_tokens',
  pooling_mode_weightedmean_tokens: 'weightedmean',
  pooling_mode_lasttoken: 'lasttoken',
};

/**
 * The kinds of pooling in a 1_Pooling/config.json.
 * @param {any} json
 * @returns {Partial<Pooling>}
 */
function poolingOf(json) {
  const flags = Object.keys(FLAGS).filter((flag) => json?.[flag] === true);
  const names = [json?.pooling_mode ?? flags.map((flag) => FLAGS[flag])].flat();
  const kinds = names.flatMap((name) => (Object.hasOwn(MODES, String(name)) ? MODES[name] : []));
  const lacks = kinds.length < names.length ? show(json?.pooling_mode) : kinds.length ? null : 'no pooling';
  const pooling = lacks === null ? (kinds.length > 1 ? kinds : kinds[0]) : null;
  return { pooling, lacks, ...(json?.include_prompt === false && { includePrompt: false }) };
}

/**
 * The steps in modules.json; null where there is no such file.
 * @param {Opener} opener
 * @param {Folder} folder
 * @returns {Promise<{kind: string, type: unknown, path: string | null}[] | null>} path: null where it is not one beside
 *   the file
 */
async function modulesOf(opener, folder) {
  const modules = await opener.optionalJson(folder.get('modules.json'));
  if (!Array.isArray(modules)) return null;
  return modules.map((module) => {
    const { type, path } = module ?? {};
    return { kind: String(type).split('.').pop() ?? '', type, path: path === '' || isFileName(path) ? path : null };
  });
}

/**
 * The folder of the transformer where modules.json puts it into another one.
 * @param {Opener} opener
 * @param {Folder} folder
 * @returns {Promise<Folder | null>}
 */
export async function transformerFolder(opener, folder) {
  const path = (await modulesOf(opener, folder))?.find(({ kind }) => kind === 'Transformer')?.path;
  return path ? inside(folder, path) : null;
}

/**
 * A folder in a folder.
 * @param {Folder} folder
 * @param {string} path
 * @returns {Folder}
 */
const inside = (folder, path) => ({
  name: `${folder.name}${path}/`,
  get: (file) => folder.get(`${path}/${file}`),
  list: async () =>
    (await folder.list()).filter((name) => name.startsWith(`${path}/`)).map((name) => name.slice(path.length + 1)),
});

/**
 * How the files of sentence-transformers in a folder make one vector; without them nothing is returned.
 * @param {Opener} opener
 * @param {Folder} folder
 * @param {Folder} [own]  that of the transformer
 * @returns {Promise<Partial<OwnPooling> | undefined>}
 */
export async function readPooling(opener, folder, own = folder) {
  const modules = await modulesOf(opener, folder);
  if (!modules) return undefined;
  /** @type {OwnPooling} */
  const found = { pooling: 'mean', normalize: false, maxTokens: null, lacks: null };
  Object.assign(found, await textSettings(opener, own), await promptsOf(opener, folder));
  /** @type {import('./sentence_transformers.js').PoolingStep[]} */
  const steps = [];
  for (const { kind, type, path } of modules) {
    const get = path === null ? null : (/** @type {string} */ file) => folder.get(path ? `${path}/${file}` : file);
    if (kind === 'Normalize') steps.push('normalize');
    else if (kind === 'Pooling' && get) {
      const { lacks = null, ...rest } = poolingOf(await opener.optionalJson(get('config.json')));
      Object.assign(found, rest, { lacks: found.lacks ?? lacks });
    } else if (kind === 'Dense' && get) {
      const dense = await readDense(opener, get, `${folder.name}${path}`);
      if (typeof dense === 'string') found.lacks ??= dense;
      else steps.push(dense);
    } else if (kind !== 'Transformer') found.lacks = `the module ${show(type)}`;
  }
  found.normalize = steps.includes('normalize');
  if (steps.some((step) => step !== 'normalize')) found.steps = steps;
  return found.lacks === null ? found : { ...found, pooling: null };
}

/**
 * What is done to a text before it is read. The most tokens are in sentence_bert_config.json, and since release 6 in
 * the tokenizer's own settings.
 * @param {Opener} opener
 * @param {Folder} folder  of the transformer
 * @returns {Promise<Partial<Pooling>>}
 */
async function textSettings(opener, folder) {
  const settings = await opener.optionalJson(folder.get('sentence_bert_config.json'));
  const limit =
    settings?.max_seq_length ?? (await opener.optionalJson(folder.get('tokenizer_config.json')))?.model_max_length;
  return {
    // transformers writes 1e30 where there is no limit
    maxTokens: Number.isInteger(limit) && limit > 0 && limit < 2 ** 31 ? limit : null,
    ...(settings?.do_lower_case === true && { lowerCase: true }),
  };
}

/**
 * The texts that are put before others, by name.
 * @param {Opener} opener
 * @param {Folder} folder
 * @returns {Promise<Partial<Pooling>>}
 */
async function promptsOf(opener, folder) {
  const file = 'config_sentence_transformers.json';
  const settings = await opener.optionalJson(folder.get(file));
  const prompts = Object.fromEntries(
    Object.entries(settings?.prompts ?? {}).filter(([, text]) => typeof text === 'string'),
  );
  const name = settings?.default_prompt_name ?? null;
  if (name !== null && !Object.hasOwn(prompts, name))
    fail('bad-file', `${folder.name}${file}: default_prompt_name is ${show(name)}, expected a name in prompts`);
  return {
    ...(Object.keys(prompts).length && { prompts }),
    ...(name !== null && { defaultPrompt: prompts[name] }),
  };
}
