"""Writes llama_cpp.json: what llama.cpp computes of the small GGUF files that tests/node/llama_cpp_models.js writes.

    node tests/node/llama_cpp_models.js FOLDER
    python3 make_llama_cpp.py FOLDER        # pip install llama-cpp-py-sync gguf

Of a decoder: the logits of the last position. Of an encoder: the states of three positions, or one vector where the
file has a pooling type, which llama.cpp does not normalise; of a classifier what llama.cpp calls the rank.
"""
import json, os, sys
import gguf
from llama_cpp_py_sync import _cffi_bindings, _version

lib, ffi = _cffi_bindings.get_lib(), _cffi_bindings.ffi
folder = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
ids = json.load(open(os.path.join(folder, 'ids.json')))
ROWS = [0, 11, 23]
ENCODERS = ('bert', 'embed', 'llama-embed')


def values(pointer, n):
    return [float(f'{pointer[i]:.7g}') for i in range(n)]


def run(path):
    reader = gguf.GGUFReader(path)
    architecture = reader.get_field('general.architecture').contents()
    labels = reader.get_field(f'{architecture}.classifier.output_labels')
    pooling = reader.get_field(f'{architecture}.pooling_type')
    is_encoder = any(word in architecture for word in ENCODERS)
    settings = lib.llama_model_default_params()
    settings.n_gpu_layers = 0
    model = lib.llama_model_load_from_file(path.encode(), settings)
    if model == ffi.NULL:
        return None
    width = lib.llama_model_n_embd(model)
    options = lib.llama_context_default_params()
    options.n_ctx = options.n_batch = options.n_ubatch = 128
    options.n_threads = options.n_threads_batch = 1
    options.type_k = options.type_v = 0  # f32
    options.flash_attn_type = 0
    options.embeddings = is_encoder or labels is not None
    options.pooling_type = pooling.contents() if pooling else 0
    context = lib.llama_init_from_model(model, options)
    batch = lib.llama_batch_init(128, 0, 1)
    batch.n_tokens = len(ids)
    for i, token in enumerate(ids):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, i, 1, 1
        batch.seq_id[i][0] = 0
    assert lib.llama_decode(context, batch) == 0
    if labels is not None:
        out = {'rank': values(lib.llama_get_embeddings_seq(context, 0), len(labels.contents()))}
    elif pooling:
        out = {'vector': values(lib.llama_get_embeddings_seq(context, 0), width)}
    elif is_encoder:
        out = {'states': {i: values(lib.llama_get_embeddings_ith(context, i), width) for i in ROWS}}
    else:
        out = {'logits': values(lib.llama_get_logits_ith(context, len(ids) - 1), 320)}
    lib.llama_free(context)
    lib.llama_model_free(model)
    return out


lib.llama_backend_init()
names = sorted(name[:-5] for name in os.listdir(folder) if name.endswith('.gguf'))
models = {name: run(os.path.join(folder, f'{name}.gguf')) for name in names}
about = {'llama.cpp': _version.__llama_cpp_tag__, 'llama-cpp-py-sync': _version.__version__, 'ids': ids}
with open(os.path.join(here, 'llama_cpp.json'), 'w') as file:
    file.write(json.dumps({**about, 'models': {k: v for k, v in models.items() if v}}, separators=(',', ':')) + '\n')
print('refused:', [name for name, out in models.items() if not out])
