// foreign_files.js - files of other programs, by their first bytes and their names: what they are, and what to load
// instead

const SAVE = 'save model.state_dict() with torch.save, or as safetensors';
const OLD_GGML = "a file of ggml before GGUF: convert the original model with today's llama.cpp";
/** Numbers with which the files of llm.c begin. @type {Record<number, string>} */
const LLM_C = {
  20240327: 'the recorded values of a test of llm.c',
  20240328: 'the tokenizer of llm.c: pass a tokenizer.json',
  20240520: 'token ids of llm.c, not a model',
  20240522: 'questions of llm.c (HellaSwag), not a model',
  20240801: 'token ids of llm.c for Llama 3, not a model',
  20240803: 'a Llama 3 of llm.c: load the checkpoint of Hugging Face that it was made of',
};
/** Beginnings, as text or as a pattern of the name. @type {[begin: string, ending: RegExp | null, what: string][]} */
const BEGINNINGS = [
  ['lmgg', null, OLD_GGML],
  ['fmgg', null, OLD_GGML],
  ['tjgg', null, OLD_GGML],
  ['algg', null, 'a LoRA adapter of ggml before GGUF: convert the original adapter'],
  ['\x89HDF', null, `an HDF5 file, as Keras writes: ${SAVE}`],
  ['\x93NUMPY', null, `one array of NumPy: ${SAVE}`],
  ['\x1f\x8b', null, 'packed with gzip: unpack it first'],
  ['BZh', null, 'packed with bzip2: unpack it first'],
  ['\xfd7zXZ', null, 'packed with xz: unpack it first'],
  ['7z\xbc\xaf', null, 'packed with 7-Zip: unpack it first'],
  ['\x28\xb5\x2f\xfd', null, 'packed with Zstandard: unpack it first'],
  ['PAR1', null, 'a Parquet file, which holds data and not a model'],
  ['ARROW1', null, 'an Arrow file, which holds data and not a model'],
  ['\x08', /\.onnx$/, `an ONNX graph: ${SAVE}`],
  ['', /\.(onnx|ort)$/, `an ONNX graph: ${SAVE}`],
  ['', /\.msgpack$/, `weights of Flax (MessagePack): ${SAVE}`],
  ['', /\.(h5|hdf5|keras)$/, `a file of Keras: ${SAVE}`],
  ['', /\.(tflite|pb|mlmodel|pte)$/, `a graph of another program: ${SAVE}`],
  ['', /\.ckpt\.(data-\d+-of-\d+|index|meta)$|\.data-\d+-of-\d+$/, `a checkpoint of TensorFlow: ${SAVE}`],
  ['', /\.(npz|npy)$/, `arrays of NumPy: ${SAVE}`],
  ['', /(^|[/\\])(train|val|valid|test)[\w.-]*\.bin$/, 'token ids to train with, as nanoGPT and llama2.c prepare them'],
  ['', /\.model$/, 'a SentencePiece model by its name: pass it as tokenizer beside weights'],
];

/**
 * What a file is that no reader here reads.
 * @param {Uint8Array} bytes  the first ones
 * @param {string} name  without a query, in small letters
 * @returns {string | null} with advice, or null where it is not known
 */
export function foreignFile(bytes, name) {
  const text = String.fromCharCode(...bytes); // browsers decode 'latin1' as windows-1252, in which \x80 is a euro sign
  const word = bytes.length < 4 ? 0 : new DataView(bytes.buffer, bytes.byteOffset).getInt32(0, true);
  if (Object.hasOwn(LLM_C, word)) return LLM_C[word];
  const found = BEGINNINGS.find(([begin, ending]) => text.startsWith(begin) && (!ending || ending.test(name)));
  if (found) return found[2];
  if (/^.{4}TFL3/s.test(text)) return `a graph of TensorFlow Lite: ${SAVE}`;
  if (/^\x80[\x02-\x05]/.test(text))
    return `a pickle of Python, which is read only inside a file of torch.save: ${SAVE}`;
  if (/^\s*[{[]/.test(text)) return 'JSON: give the file of weights, or the folder that holds both';
  return null;
}
