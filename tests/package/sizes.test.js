// sizes.test.js - the download sizes of engine and JavaScript stay below their limits
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { limits, report } from './sizes.js';

test('each binary, and the JavaScript to start and to load and generate, are below their limits, gzipped', async (t) => {
  const { wasm, engine, start, js, count } = await report((line) => t.diagnostic(line));
  assert.equal(Object.keys(wasm).length, 6, `the package has the binaries ${Object.keys(wasm)}; expected six`);
  for (const [name, bytes] of Object.entries(wasm)) {
    const most = name.includes('train') ? limits.training : limits.wasm;
    assert.ok(bytes > 0 && bytes <= most, `${name} has ${bytes} bytes, gzipped; at most ${most}`);
  }
  assert.ok(
    start > 0 && start <= limits.start,
    `${start} bytes of JavaScript before load is called, gzipped; at most ${limits.start}`,
  );
  assert.ok(js > start && js <= limits.js, `${js} bytes of JavaScript, gzipped; at most ${limits.js}`);
  assert.ok(count > 5 && count <= limits.scripts, `Vite writes ${count} scripts; at most ${limits.scripts}`);
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8'),
    [, told] = /^\| download, gzipped \| (\d+) KB/m.exec(readme) ?? [];
  const kilobytes = (engine + js) / 1000;
  assert.ok(
    Math.abs(Number(told) / kilobytes - 1) < 0.05,
    `the README says ${told} KB to download, it is ${kilobytes.toFixed(1)}: node tests/package/sizes.js`,
  );
});
