"""check_written.py - SAELens reads what this package wrote, and encodes the same values to the same features.

    node tests/golden/dictionaries/write_dictionaries.js OUT && python3 tests/golden/dictionaries/check_written.py OUT

Prints for each dictionary the class that SAELens makes of it, the largest difference of its features from those of the
package, and of its reconstruction from that of the dictionary that the package had read. sae-lens 6.54.12, torch 2.15.0,
in double precision: the features differ by at most 3.9e-6 where the largest is 29 (gated), reconstructions by 1.3e-5.
"""
import json
import os
import sys

import torch
from sae_lens import SAE

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = sys.argv[1]
torch.set_grad_enabled(False)
with open(f'{HERE}/expected.json') as f: expected = json.load(f)['dictionaries']
for name in sorted(os.listdir(OUT)):
    with open(f'{OUT}/{name}/encoded.json') as f: encoded = json.load(f)
    x = torch.tensor(encoded['x'], dtype=torch.float64).reshape(encoded['shape'])
    sae = SAE.load_from_disk(f'{OUT}/{name}').to(torch.float64)
    if name == 'hook_z': sae.turn_on_forward_pass_hook_z_reshaping()
    z = sae.encode(x)
    off = (z - torch.tensor(encoded['acts'], dtype=torch.float64)).abs().max().item()
    recon = torch.tensor(expected[name]['recon'], dtype=torch.float64) if name in expected else None
    decoded = '' if recon is None else f'{(sae(x).flatten() - recon).abs().max().item():.1e}'
    print(f'{name:26} {type(sae).__name__:22} {off:.1e} of {z.max().item():.1f}  {decoded}')
    if off > 1e-4 or (decoded and float(decoded) > 1e-4): sys.exit(f'{name} differs')
