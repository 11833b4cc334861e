// sizes.test.js - the download sizes of engine and JavaScript stay below their limits
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { limits, report } from '../../scripts/sizes.js';

test('each binary, and the JavaScript of load and generate, are below their limits, gzipped', async (t) => {
  const { wasm, js, train } = await report((line) => t.diagnostic(line));
  assert.ok(wasm > 0 && wasm <= limits.wasm, `a wasm file of ${wasm} bytes, gzipped; at most ${limits.wasm}`);
  assert.ok(
    train > 0 && train <= limits.train,
    `a binary that trains of ${train} bytes, gzipped; at most ${limits.train}`,
  );
  assert.ok(js > 0 && js <= limits.js, `${js} bytes of JavaScript, gzipped; at most ${limits.js}`);
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8'),
    [, told] = /^\| download, gzipped \| (\d+) KB/m.exec(readme) ?? [];
  const kilobytes = (wasm + js) / 1000;
  assert.ok(
    Math.abs(Number(told) / kilobytes - 1) < 0.05,
    `the README says ${told} KB to download, it is ${kilobytes.toFixed(1)}: node scripts/sizes.js`,
  );
});
