// sentence_transformers.js - how an encoder's states become one vector, from the files of sentence-transformers
//
// modules.json lists the steps of a pipeline: the transformer, 1_Pooling, 2_Normalize. A step or a kind of pooling that
// the engine lacks is noted, and Model.embed names it.
import { isFileName } from '../bytes/file_name.js';
import { show } from '../../base/errors.js';

/** @import { Folder } from '../opened_files.js' */
/** @import { Opener } from '../source.js' */
/** @import { Pooling } from '../../run/loaded_model.js' */

/**
 * Kinds of pooling by pooling_mode in 1_Pooling/config.json; older files have a flag for each, pooling_mode_cls_token.
 * @type {Record<string, Pooling['pooling']>}
 */
const MODES = { cls: 'cls', mean: 'mean', lasttoken: 'last' };

/**
 * The kind of pooling in a 1_Pooling/config.json.
 * @param {any} json
 * @returns {Pick<Pooling, 'pooling' | 'lacks'>}
 */
function poolingOf(json) {
  const flags = Object.keys(json ?? {}).filter((key) => /^pooling_mode_/.test(key) && json[key] === true);
  const mode = json?.pooling_mode;
  const [flag] = flags.length === 1 ? flags : [];
  const name = mode === undefined ? flag?.replace(/^pooling_mode_|_tokens?$/g, '') : mode;
  const kind = typeof name === 'string' && Object.hasOwn(MODES, name) ? MODES[name] : null;
  return { pooling: kind, lacks: kind ? null : mode === undefined ? flags.join(' with ') || 'no pooling' : show(mode) };
}

/**
 * How the files of sentence-transformers in a folder make one vector; without them nothing is returned.
 * @param {Opener} opener
 * @param {Folder} folder
 * @returns {Promise<Partial<Pooling> | undefined>}
 */
export async function readPooling(opener, folder) {
  const modules = await opener.optionalJson(folder.get('modules.json'));
  if (!Array.isArray(modules)) return undefined;
  const limit = (await opener.optionalJson(folder.get('sentence_bert_config.json')))?.max_seq_length;
  /** @type {Pooling} */
  const found = {
    pooling: 'mean',
    normalize: false,
    maxTokens: Number.isInteger(limit) && limit > 0 ? limit : null,
    lacks: null,
  };
  for (const module of modules) {
    const { type, path } = module ?? {};
    const kind = String(type).split('.').pop();
    if (kind === 'Normalize') found.normalize = true;
    else if (kind === 'Pooling' && isFileName(path)) {
      const { pooling, lacks } = poolingOf(await opener.optionalJson(folder.get(`${path}/config.json`)));
      Object.assign(found, { pooling, lacks: found.lacks ?? lacks });
    } else if (kind !== 'Transformer') found.lacks = `the module ${show(type)}`;
  }
  return found.lacks === null ? found : { ...found, pooling: null };
}
