// character_ids.js - the characters of nanoGPT's meta.pkl as a tokenizer: each is a token
import { fail, show } from '../../base/errors.js';
import { Unpickler } from '../pytorch/pickle.js';
import { pickleLength } from '../pytorch/pickle_opcodes.js';
import { namedInPython, setState } from '../pytorch/python_objects.js';

/**
 * The tokenizer.json of a meta.pkl, a pickle of a dict whose `stoi` has the id of each character.
 * @param {Uint8Array} bytes
 * @param {string} where  file name, for messages
 * @returns {object}
 */
export function charactersJson(bytes, where) {
  const length = pickleLength(bytes, where, { at: 0 });
  const nothing = () => fail('bad-tokenizer', `${where}: holds more than characters and their ids`);
  const root = length
    ? new Unpickler(bytes.subarray(0, length), where, { global: namedInPython, persistent: nothing, setState }).run()
    : fail('truncated', `${where}: the pickle ends early`);
  const ids = root instanceof Map ? root.get('stoi') : null;
  if (!(ids instanceof Map) || !ids.size)
    return fail('bad-tokenizer', `${where}: expected the dict of a meta.pkl with stoi, found ${show(root)}`);
  for (const [character, id] of ids)
    if (typeof character !== 'string' || [...character].length !== 1 || !Number.isInteger(id) || id < 0)
      fail('bad-tokenizer', `${where}: stoi has ${show(character)}: ${show(id)}, expected one character and its id`);
  return {
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: null,
    decoder: { type: 'Fuse' },
    model: { type: 'BPE', vocab: Object.fromEntries(ids), merges: [] },
  };
}
