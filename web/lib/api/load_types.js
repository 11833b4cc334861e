// load_types.js - what load and create take: sources of a checkpoint, and options

/** @import { Bytes, Progress, Streamed } from './index.js' */

/**
 * The parts of a checkpoint. config and tokenizer replace those beside the weights.
 * @typedef {object} SourceParts
 * @property {Bytes | Streamed | readonly (Bytes | Streamed)[]} weights  one file, or all files of a sharded checkpoint
 * @property {Bytes | Streamed | object} [config]     a config.json, as a file or as an object
 * @property {Bytes | Streamed | object} [tokenizer]  a tokenizer.json, as a file or as an object
 */
/**
 * A checkpoint: a .gguf file or the first of its parts, a safetensors file, a PyTorch state dict (.pt, .pth, .bin),
 * llama2.c's .bin; a folder (an address or path ending
 * in "/", or the files of a file input); 'hf:owner/name[@revision][/file.gguf]'; or a Response or ReadableStream.
 * @typedef {Bytes | Streamed | ArrayLike<File> | SourceParts} Source
 */
/**
 * @typedef {LoadOnly | 'fetch' | 'headers' | 'hfEndpoint' | 'sha256' | 'token'} DownloadOption
 * @typedef {'adapters' | 'cache' | 'cacheDir' | 'chatTemplate' | 'config' | 'names' | 'switches'} LoadOnly
 */
/**
 * Options of `create`: those of `load` that do not concern files, and `seed`, 0 .. 2^53 - 1, drawn when absent.
 * @typedef {{seed?: number} & Omit<LoadOptions, DownloadOption>} CreateOptions
 */
/**
 * Parts of the architecture; false removes the part.
 * @typedef {object} Switches
 * @property {boolean} [causal]        the causal mask
 * @property {boolean} [scaleScores]   the division of scores by sqrt(d_head)
 * @property {boolean} [usePosition]   position embeddings, or RoPE
 * @property {boolean} [useResidual]   residual connections
 * @property {boolean} [useNorm]       the norms inside the blocks
 * @property {boolean} [useFinalNorm]  the norm before the head
 */
/**
 * The name of a tensor in a file; transposed: it is stored [in, out]; gain: that of a norm is stored minus 1, or the
 * norm divides by the standard deviation of the sample.
 * @typedef {string |
 *   {name: string, transposed?: boolean, gain?: 'factor' | 'minus-one' | 'sample-deviation'}} WeightName
 */
/**
 * @typedef {object} LoadOptions
 * @property {'keep'|'f32'|'f16'|'q8_0'|'q4_0'|'q6_k'|'q5_0'|'q4_k'} [dtype] type of matrices in memory; default 'keep':
 *   as the file stores them; 'f32' gives the most exact numbers
 * @property {number} [contextLength] maximum sequence length in tokens; default: the model's own. More than that adds a
 *   warning, and is refused where positions are learned
 * @property {number} [threads] 1 to 64; several compute in a worker, and a page has to be cross-origin isolated;
 *   default: in a worker what suits machine and model, otherwise 1
 * @property {'auto'|'simd'|'relaxed'} [backend] which binary; default 'auto': relaxed SIMD where there is some. Both
 *   give the same numbers
 * @property {'f32'|'f16'|'q8_0'} [kvDtype] type of the key/value cache; default: 'f16' if the matrices are
 *   quantised, else 'f32'. 'q8_0' takes half the memory of 'f16' and is less exact. A pass with a key or value above
 *   65504, which 'f16' cannot hold, is refused as `not-finite`
 * @property {boolean | string | URL | (() => Worker | Promise<Worker>)} [worker] true: the package's own worker
 *   (default in browsers, and in Node with several threads); false: the calling thread (default in Node and where there
 *   are no workers); the address of a copy of its file dist/worker.js with dist/worker_more.js and dist/worker_files.js
 *   beside it; or a function that starts a worker which imports 'glassformer/worker'
 * @property {Bytes | Response | WebAssembly.Module} [wasm]  the engine's binary, instead of the package's own file
 * @property {typeof globalThis.fetch} [fetch] makes the requests for the model's files; called in the calling thread;
 *   default: the global one
 * @property {'none'|'cache-storage'|'opfs'|'file'} [cache] store downloads: in browsers 'cache-storage' or 'opfs', in
 *   Node 'file'; default none
 * @property {string} [chatTemplate] a Jinja template for `chat`, instead of the one in the model's files
 * @property {string} [cacheDir] the folder of cache 'file'; default: `glassformer` in the user's cache folder
 *   ($XDG_CACHE_HOME or ~/.cache, ~/Library/Caches, %LOCALAPPDATA%)
 * @property {string} [sha256]               expected SHA-256 of the weight file, 64 hexadecimal digits; another file
 *   is rejected
 * @property {readonly {source: Source, scale?: number}[]} [adapters] LoRA adapters of a safetensors, PyTorch or GGUF
 *   checkpoint: a folder of PEFT with adapter_config.json and adapter_model.safetensors, { weights, config }, or a GGUF
 *   of llama.cpp. Each is multiplied by its scale, default 1, and added to the weights in f32, before they are stored
 *   as `dtype`
 * @property {Switches} [switches] removes parts from the loaded model, to see what they contribute; `create` takes the
 *   same fields in its configuration
 * @property {Record<string, any>} [config] for safetensors and PyTorch checkpoints: keys that replace those of its
 *   files, or complete what is read off the tensors where there is no config.json: { n_head: 12 }
 * @property {Record<string, WeightName | readonly string[]> | ((name: string) => WeightName | null | undefined)}
 *   [names] of the tensors in safetensors and PyTorch files: an object with our names as keys (see Model.parameters;
 *   `N` stands for the layer, .weight and .bias may be left out, `H` in the file's name stands for the head), or a
 *   function that gets our name and returns the one in the file. Weights with the same name are stacked in one tensor.
 *   The key `ignore` lists tensors that are no weights
 * @property {string} [hfEndpoint]           instead of https://huggingface.co (in Node: $HF_ENDPOINT)
 * @property {string} [token] access token of the hub, for 'hf:' sources; default in Node: $HF_TOKEN, for
 *   https://huggingface.co and $HF_ENDPOINT only
 * @property {Record<string, string> | readonly (readonly [string, string])[] | Headers} [headers] sent with requests to
 *   the origin of the weights' address only; a redirect to another origin is followed without them. In browsers a
 *   redirect is an error, unless the only header is `authorization`
 * @property {AbortSignal} [signal]          aborted: the call rejects with the signal's reason and frees all memory
 * @property {(p: Progress) => void} [onProgress] called at most about 20 times a second with bytes; `total` may be
 *   null. If it throws, the load fails with code 'callback'; a promise that it returns is not awaited
 */

export {};
