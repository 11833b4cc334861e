// sha256.js - SHA-256 of bytes that arrive in pieces (FIPS 180-4); crypto.subtle needs all bytes at once

/** Fractions of the square roots of the first 8 primes and of the cube roots of the first 64, 32 bits each. */
const START = new Int32Array(8);
const K = new Int32Array(64);
for (let n = 2, i = 0; i < 64; n++) {
  if (Array.from({ length: n - 2 }, (_, k) => k + 2).some((d) => n % d === 0)) continue;
  if (i < 8) START[i] = ((n ** 0.5 % 1) * 2 ** 32) | 0;
  K[i++] = ((n ** (1 / 3) % 1) * 2 ** 32) | 0;
}

/** Computes one digest: `update` any number of times, then `digest` once. */
export class Sha256 {
  #h = START.slice();
  #w = new Int32Array(64);
  #block = new Uint8Array(64);
  #used = 0;
  #length = 0;

  /** @param {Uint8Array} bytes */
  update(bytes) {
    this.#length += bytes.length;
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + 64 - this.#used);
      this.#block.set(part, this.#used);
      this.#used += part.length;
      at += part.length;
      if (this.#used === 64) this.#mix();
    }
    return this;
  }

  /** @returns {string} 64 hexadecimal digits */
  digest() {
    const bits = this.#length * 8;
    const end = new Uint8Array((this.#used < 56 ? 64 : 128) - this.#used);
    end[0] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(end.length - 4, bits % 2 ** 32);
    this.update(end);
    return Array.from(this.#h, (x) => (x >>> 0).toString(16).padStart(8, '0')).join('');
  }

  #mix() {
    const w = this.#w;
    const view = new DataView(this.#block.buffer);
    const H = this.#h;
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(4 * i);
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15];
      const b = w[i - 2];
      w[i] =
        w[i - 16] +
        (rotateRight(a, 7) ^ rotateRight(a, 18) ^ (a >>> 3)) +
        w[i - 7] +
        (rotateRight(b, 17) ^ rotateRight(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = H;
    for (let i = 0; i < 64; i++) {
      const s =
        (h + (rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const t = (s + (rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + s) | 0;
      d = c;
      c = b;
      b = a;
      a = t;
    }
    H[0] += a;
    H[1] += b;
    H[2] += c;
    H[3] += d;
    H[4] += e;
    H[5] += f;
    H[6] += g;
    H[7] += h;
    this.#used = 0;
  }
}

/**
 * Rotates 32 bits.
 * @param {number} x
 * @param {number} n  bits to the right
 */
function rotateRight(x, n) {
  return (x >>> n) | (x << (32 - n));
}

/**
 * The 32 bytes of the SHA-256 of bytes that are all there. Only secure contexts have crypto.subtle; Sha256 takes 20 ms
 * for a million bytes.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {Promise<Uint8Array>}
 */
export async function digestOfBytes(bytes) {
  const { subtle } = globalThis.crypto ?? {};
  if (subtle) return new Uint8Array(await subtle.digest('SHA-256', bytes));
  const digits = new Sha256().update(bytes).digest();
  return Uint8Array.from({ length: 32 }, (_, i) => parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}
