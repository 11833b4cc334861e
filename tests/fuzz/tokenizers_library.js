// tokenizers_library.js - answers of Hugging Face's Rust library, the npm package `tokenizers`, in a process of its own,
// which the library ends at some texts, and never answers others
//
// As a program it answers messages [tokenizer.json, text, pair, ids] with what `Library.answers` gives.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(import.meta.url);

/** After so many seconds there is no answer. */
const LONGEST = 60;

/** What a call gives, or its error. */
async function result(call) {
  try {
    return { value: await call() };
  } catch (error) {
    return { error: error.message };
  }
}

/** The process, started again when it has ended. */
export class Library {
  #child = null;

  /**
   * @param {string} json  a tokenizer.json
   * @param {string} text
   * @param {string} pair  a second text
   * @param {number[]} ids
   * @returns {Promise<any>} refused: the library does not take the tokenizer.json; null: it ended, or never answers
   */
  answers(...question) {
    const child = (this.#child ??= fork(file, { silent: true, serialization: 'advanced' }));
    return new Promise((resolve) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), 1000 * LONGEST);
      const ended = () => {
        clearTimeout(timer);
        this.#child = null;
        resolve(null);
      };
      child.once('exit', ended);
      child.once('message', (answer) => {
        clearTimeout(timer);
        child.off('exit', ended);
        resolve(answer);
      });
      child.send(question);
    });
  }

  close() {
    this.#child?.disconnect();
    this.#child = null;
  }
}

/**
 * @param {any} tokenizer
 * @param {string} text
 * @param {string} pair
 * @param {number[]} ids
 */
async function answersOf(tokenizer, text, pair, ids) {
  const encoded = async (addSpecialTokens) => (await tokenizer.encode(text, null, { addSpecialTokens })).getIds();
  const [plain, special] = [await result(() => encoded(false)), await result(() => encoded(true))];
  const both = await result(async () => {
    const { length } = await tokenizer.encode(text, pair).then((all) => all.getIds());
    const alone = plain.value.length + (await tokenizer.encode(pair, null, { addSpecialTokens: false })).getLength();
    if (length < alone) throw new Error('no rule for pairs');
    const all = await tokenizer.encode(text, pair);
    return [all.getIds(), all.getTypeIds()];
  });
  const decoded = [];
  for (const list of [special.value ?? [], ids])
    for (const skips of [false, true])
      decoded.push([list, skips, list.length ? await result(() => tokenizer.decode(list, skips)) : { value: '' }]);
  return { plain, special, both, decoded };
}

if (process.argv[1] === file && process.send) {
  const { default: tokenizers } = await import('tokenizers');
  let [known, tokenizer] = ['', null];
  process.on('message', async ([json, text, pair, ids]) => {
    if (json !== known) {
      known = json;
      tokenizer = await result(() => tokenizers.Tokenizer.fromString(json));
    }
    process.send(tokenizer.error ? { refused: tokenizer.error } : await answersOf(tokenizer.value, text, pair, ids));
  });
}
