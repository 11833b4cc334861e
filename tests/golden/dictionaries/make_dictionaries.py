"""make_dictionaries.py - dictionaries of every architecture of SAELens, and what SAELens computes with them.

    python3 tests/golden/dictionaries/make_dictionaries.py      sae-lens 6.54.12, torch 2.15.0

Writes beside itself: model/ (a tiny decoder in the form of this project, with random weights), a folder for each
dictionary, as SAELens writes it, and expected.json: the tokens; the values at the hook in double precision, by the
implementation in tests/golden/make_golden.py; what SAELens encodes and decodes of them in double precision; logits of that
model in double precision with edits of features, and the tokens that it then chooses greedily.
"""
import json
import os
import types

import torch
from safetensors.torch import load_file, save_file
from sae_lens import SAE, BatchTopKTrainingSAE, BatchTopKTrainingSAEConfig
from sae_lens.saes.sae import SAEMetadata

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(os.path.dirname(HERE), 'make_golden.py')) as source:  # without its last line, which writes files
    golden = types.ModuleType('golden')
    golden.__file__ = source.name
    exec(source.read().rpartition('\nmain()')[0], golden.__dict__)

D, SIZE, VOCAB, IDS = 16, 24, 23, [3, 1, 20, 7, 7, 11, 0, 5, 16, 2]
POINT = 'blocks.0.hook_resid_post'
CONFIG = golden.Config({**golden.DEFAULTS, 'vocab_size': VOCAB, 'd_model': D, 'n_layers': 2, 'n_heads': 2, 'n_kv_heads': 2, 'd_head': 8,
                        'd_ff': 24, 'context_length': 32})


class Edited(golden.Run):
    """A pass in which features of a dictionary are changed at a point of layer 0."""

    def __init__(self, weights, sae=None, edits=()):
        super().__init__(CONFIG, weights)
        self.sae, self.changes = sae, edits

    def see(self, name, stack, layer, value):
        if self.sae is not None and name == 'hook_resid_post' and layer == 0:
            z = self.sae.encode(value)
            for e in self.changes:
                rows = range(value.shape[0]) if e.get('position') is None else [e['position']]
                for r in rows:
                    by = (e.get('scale', 1) - 1) * z[r, e['feature']] + e.get('add', 0)
                    value = value.clone()
                    value[r] += by * self.sae.W_dec[e['feature']]
        return super().see(name, stack, layer, value)


def logits_of(weights, ids, sae=None, edits=()):
    return Edited(weights, sae, edits)(ids)


def values_at(weights, name):
    run = Edited(weights)
    run(IDS)
    layer, point = name.split('.', 2)[1:]
    return next(v for n, _, l, v in run.points if n == point and l == int(layer))


def save(name, architecture, old=False, hook=POINT, out=None, d=D, **fields):
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    cfg = {'architecture': architecture, 'd_in': d, 'd_sae': SIZE, 'dtype': 'float64', 'device': 'cpu', 'apply_b_dec_to_input': False,
           'normalize_activations': 'none', 'reshape_activations': 'none',
           'metadata': {'model_name': 'tiny', 'hook_name': hook, **({'hook_name_out': out} if out else {})},
           **({'d_out': D} if out else {}), **fields}
    sae = SAE.from_dict(cfg)
    for key, value in sae.state_dict().items():
        value.copy_(torch.randn(value.shape, generator=torch.Generator().manual_seed(len(key) + value.numel())) * (0.3 if key[0] == 'b' else 0.5))
        if key == 'threshold': value.abs_()
    sae.load_state_dict({k: v.to(torch.float32).to(torch.float64) for k, v in sae.state_dict().items()})
    sae.save_model(folder)
    tensors = load_file(f'{folder}/sae_weights.safetensors')
    save_file({k: v.to(torch.float32) for k, v in tensors.items()}, f'{folder}/sae_weights.safetensors')
    with open(f'{folder}/cfg.json') as f: written = json.load(f)
    written['dtype'] = 'float32'
    if old:  # as SAELens wrote it before version 6
        meta = written.pop('metadata')
        written = {**written, 'hook_name': meta['hook_name'], 'model_name': 'tiny', 'activation_fn_str': 'relu'}
        del written['apply_b_dec_to_input'], written['architecture']
        sae.cfg.apply_b_dec_to_input = True
    with open(f'{folder}/cfg.json', 'w') as f: json.dump(written, f, indent=1)
    return sae


def batchtopk():
    """A BatchTopK as SAELens saves it after its training: a JumpReLU."""
    cfg = BatchTopKTrainingSAEConfig(d_in=D, d_sae=SIZE, k=4, dtype='float64', device='cpu', apply_b_dec_to_input=True,
                                     metadata=SAEMetadata(model_name='tiny', hook_name=POINT))
    sae = BatchTopKTrainingSAE(cfg)
    draw = torch.Generator().manual_seed(11)
    for key, value in sae.state_dict().items():
        if value.dim(): value.copy_((torch.randn(value.shape, generator=draw) * (0.3 if key[0] == 'b' else 0.5)).to(torch.float32))
    sae.topk_threshold.fill_(1.5)
    sae.save_inference_model(f'{HERE}/batchtopk')
    tensors = load_file(f'{HERE}/batchtopk/sae_weights.safetensors')
    save_file({k: v.to(torch.float32) for k, v in tensors.items()}, f'{HERE}/batchtopk/sae_weights.safetensors')
    return SAE.load_from_disk(f'{HERE}/batchtopk').to(torch.float64)


def gemma_scope(sae):
    """The same numbers as a folder of Gemma Scope 2."""
    folder = os.path.join(HERE, 'gemma_scope')
    os.makedirs(folder, exist_ok=True)
    state = {k: v.to(torch.float32).contiguous() for k, v in sae.state_dict().items()}
    save_file({'w_enc': state['W_enc'], 'w_dec': state['W_dec'], 'b_enc': state['b_enc'], 'b_dec': state['b_dec'],
               'threshold': state['threshold']}, f'{folder}/params.safetensors')
    with open(f'{folder}/config.json', 'w') as f:
        json.dump({'architecture': 'jump_relu', 'hf_hook_point_in': 'model.layers.0.output', 'model_name': 'tiny', 'width': SIZE}, f)


def main():
    torch.set_grad_enabled(False)
    weights = golden.draw(CONFIG, 5, 0.5)
    os.makedirs(f'{HERE}/model', exist_ok=True)
    save_file({k: v.to(torch.float32).contiguous() for k, v in weights.items()}, f'{HERE}/model/model.safetensors')
    with open(f'{HERE}/model/config.json', 'w') as f:
        # what is not named is as in DEFAULTS
        sizes = ('vocab_size', 'd_model', 'n_layers', 'n_heads', 'n_kv_heads', 'd_head', 'd_ff', 'context_length', 'norm', 'norm_eps', 'ffn', 'position')
        json.dump({'model_type': 'glassformer', **{k: CONFIG[k] for k in sizes}, 'tie_word_embeddings': True}, f)
    z, mid = 'blocks.0.attn.hook_z', 'blocks.0.ln2.hook_normalized'
    mlp = dict(hook=mid, out='blocks.0.hook_mlp_out')
    made = {
        'standard': save('standard', 'standard', apply_b_dec_to_input=True),
        'standard_old': save('standard_old', 'standard', old=True),
        'constant_norm': save('constant_norm', 'standard', normalize_activations='constant_norm_rescale'),
        'layer_norm': save('layer_norm', 'standard', normalize_activations='layer_norm', apply_b_dec_to_input=True),
        'gated': save('gated', 'gated', apply_b_dec_to_input=True),
        'jumprelu': save('jumprelu', 'jumprelu'),
        'topk': save('topk', 'topk', k=4),
        'topk_rescaled': save('topk_rescaled', 'topk', k=4, rescale_acts_by_decoder_norm=True, apply_b_dec_to_input=True),
        'hook_z': save('hook_z', 'topk', k=3, hook=z, reshape_activations='hook_z'),
        'transcoder': save('transcoder', 'transcoder', **mlp),
        'skip_transcoder': save('skip_transcoder', 'skip_transcoder', **mlp),
        'jumprelu_transcoder': save('jumprelu_transcoder', 'jumprelu_transcoder', **mlp),
        'jumprelu_skip_transcoder': save('jumprelu_skip_transcoder', 'jumprelu_skip_transcoder', **mlp),
    }
    made['batchtopk'] = batchtopk()
    gemma_scope(made['jumprelu'])
    made['gemma_scope'] = made['jumprelu']
    expected = {'ids': IDS, 'dictionaries': {}, 'edits': []}
    for name, sae in made.items():
        x = values_at(weights, sae.cfg.metadata.hook_name)
        sae.turn_off_forward_pass_hook_z_reshaping() if name != 'hook_z' else sae.turn_on_forward_pass_hook_z_reshaping()
        acts, recon = sae.encode(x), sae(x)
        expected['dictionaries'][name] = {'acts': [[round(v, 7) for v in row] for row in acts.tolist()],
                                          'recon': [round(v, 7) for v in recon.flatten().tolist()]}
    for name in ('topk', 'jumprelu', 'standard'):
        sae = made[name]
        for edits in ([{'feature': 5, 'scale': 0}, {'feature': 9, 'scale': 0}], [{'feature': 2, 'add': 4.0}],
                      [{'feature': 11, 'scale': 3.0, 'add': -1.5, 'position': 6}]):
            ids = list(IDS)
            for _ in range(12): ids.append(int(logits_of(weights, ids, sae, edits)[-1].argmax()))
            y = logits_of(weights, IDS, sae, edits)
            expected['edits'].append({'dictionary': name, 'edits': edits, 'greedy': ids[len(IDS):],
                                      'logits': [round(v, 7) for v in y.flatten().tolist()]})
    with open(f'{HERE}/expected.json', 'w') as f: json.dump(expected, f)


main()
