"""normal.py - the normal numbers of src/base/rng.c in Python: integers and IEEE doubles, no C.

    python3 tests/golden/normal.py    prints what tests/native/base_test.c expects

splitmix64 (Steele, Lea, Flood 2014) seeds xoshiro256++ (Blackman, Vigna 2019); Marsaglia's polar method with a logarithm by its series, whose
largest distance from math.log is printed too.
"""
import math
import struct

MASK = (1 << 64) - 1


def seeded(seed):
    state = []
    for _ in range(4):
        seed = (seed + 0x9e3779b97f4a7c15) & MASK
        z = ((seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9) & MASK
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
        state.append(z ^ (z >> 31))
    return state


def rotl(x, k):
    return ((x << k) | (x >> (64 - k))) & MASK


def u64(s):
    out = (rotl((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
    t = (s[1] << 17) & MASK
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = rotl(s[3], 45)
    return out


def ln(x):
    m, e = math.frexp(x)
    if m < math.sqrt(0.5):
        m, e = 2 * m, e - 1
    t = (m - 1) / (m + 1)
    total = 0.0
    for k in range(21, 0, -2):
        total = total * (t * t) + 1.0 / k
    return 2 * t * total + e * math.log(2)


def normal(s):
    while True:
        u, v = (2 * ((u64(s) >> 11) * 2.0 ** -53) - 1 for _ in range(2))
        q = u * u + v * v
        if 0 < q < 1:
            return u * math.sqrt(-2 * ln(q) / q), abs(ln(q) / math.log(q) - 1)


state, digest, worst = seeded(7), 0xcbf29ce484222325, 0.0
for i in range(100000):
    x, error = normal(state)
    worst = max(worst, error)
    digest = ((digest ^ struct.unpack('<Q', struct.pack('<d', x))[0]) * 0x100000001b3) & MASK
    if i < 6:
        print(repr(x))
print(hex(digest), worst)
