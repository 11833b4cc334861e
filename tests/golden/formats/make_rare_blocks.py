"""Writes rare_blocks.safetensors: rows of the tensor types of GGUF that web/lib/files/gguf/rare_types.js unpacks, and
their values by llama.cpp's gguf-py; and that module's tables, web/lib/files/gguf/rare_grids.js.

    python3 make_rare_blocks.py     # pip install gguf; run: gguf 0.19.0, numpy 2.4.6
"""
import base64, json, os
import numpy as np
from gguf import GGMLQuantizationType, quants
from gguf.constants import GGML_QUANT_SIZES

here = os.path.dirname(os.path.abspath(__file__))
TYPES = ['IQ1_S', 'IQ1_M', 'IQ2_XXS', 'IQ2_XS', 'IQ2_S', 'IQ3_XXS', 'IQ3_S', 'TQ1_0', 'TQ2_0']
WIDTH = 512
random = np.random.default_rng(53)


def with_scale(name, blocks, scale):
    """Puts an f16 where a type has its scale: before its bits, behind them, or in the upper bits of four words."""
    half = np.full(len(blocks), scale, dtype=np.float16).view(np.uint16)
    if name == 'IQ1_M':
        words = blocks[:, -8:].copy().view(np.uint16)
        for i in range(4):
            words[:, i] = (words[:, i] & 0x0FFF) | (((half >> (4 * i)) & 15) << 12)
        blocks[:, -8:] = words.view(np.uint8)
    else:
        at = slice(-2, None) if name[0] == 'T' else slice(0, 2)
        blocks[:, at] = half.reshape(-1, 1).view(np.uint8)
    return blocks


def rows(name):
    """Random bits with a usual scale, with a negative one, with one below 2^-14; a scale of 0 and all bits 0, or 1."""
    _, size = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    draw = lambda: random.integers(0, 256, (WIDTH // 256, size), dtype=np.uint8)
    if name[0] == 'T':  # a quantiser's bits: others stand for no values
        draw = lambda: quants.quantize(random.integers(-1, 2, (WIDTH // 256, 256)).astype(np.float32), GGMLQuantizationType[name])
    ends = np.concatenate([with_scale(name, draw()[:1], 0), draw()[:1] & 0])
    return [with_scale(name, draw(), scale) for scale in (0.01, -0.5, 3e-5)] + [ends]


def write(path, tensors):
    header, data = {}, b''
    for name, (dtype, array) in tensors.items():
        raw = array.tobytes()
        header[name] = {'dtype': dtype, 'shape': list(array.shape), 'data_offsets': [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(len(text).to_bytes(8, 'little') + text + data)


tensors = {}
for name in TYPES:
    blocks = np.stack([row.reshape(-1) for row in rows(name)])
    values = quants.dequantize(blocks, GGMLQuantizationType[name]).astype(np.float32)
    assert values.shape == (4, WIDTH) and np.isfinite(values).all()
    tensors[f'{name}.bytes'] = ('U8', blocks)
    tensors[f'{name}.values'] = ('U8', values.view(np.uint8))
write(os.path.join(here, 'rare_blocks.safetensors'), tensors)

lines = ['// rare_grids.js - the values of the blocks of IQ1, IQ2 and IQ3, several to a byte, as base64', '//',
         '// Made from gguf-py 0.19.0 (llama.cpp, MIT) by tests/golden/formats/make_rare_blocks.py. Do not edit it.', '']
for name in ['IQ1_S', 'IQ2_XXS', 'IQ2_XS', 'IQ2_S', 'IQ3_XXS', 'IQ3_S']:
    text = base64.b64encode(bytes.fromhex(getattr(quants, name).grid_hex.decode())).decode()
    parts = [text[i:i + 110] for i in range(0, len(text), 110)]
    lines += [f'export const {name} =', *[f"  '{part}' +" for part in parts[:-1]], f"  '{parts[-1]}';"]
with open(os.path.join(here, '../../../web/lib/files/gguf/rare_grids.js'), 'w') as file:
    file.write('\n'.join(lines) + '\n')
