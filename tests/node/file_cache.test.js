// file_cache.test.js - cache: 'file': cached files are complete and correct, also when several processes write at once
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import { defaultCacheDir } from '../../web/lib/node/file_store.js';
import { load } from '../../web/lib/index.js';
import { storedFetch } from '../../web/lib/cache/model_store.js';
import { serveCut } from './cut_server.js';
import { collect, golden, refused, top } from './helpers.js';

const bytes = readFileSync(join(golden, 'gguf_llama_q8_0/model.gguf')),
  newer = readFileSync(join(golden, 'gguf_llama_q4_0/model.gguf'));
const sum = (/** @type {Uint8Array} */ b) => createHash('sha256').update(b).digest('hex');
const write = async (/** @type {any} */ model) => {
  try {
    return (await collect(model.generate([5], { maxTokens: 6, temperature: 0, ignoreEos: true }))).ids;
  } finally {
    model.dispose();
  }
};
const want = await write(await load(bytes));
const folder = mkdtempSync(join(tmpdir(), 'glassformer-cache-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let n = 0,
  cacheDir = '',
  /** @type {Record<string, any>} */ files = {},
  /** @type {any} */ server;

beforeEach(async () => {
  cacheDir = join(folder, String(n++), 'deep');
  files = { '/m.gguf': { bytes } };
  server = await serveCut(files);
});
afterEach(() => server.close());

const open = (/** @type {object} */ options = {}, path = 'm.gguf') =>
  load(`${server.url}${path}`, { cache: 'file', cacheDir, ...options });
const kept = () =>
  (existsSync(cacheDir) ? readdirSync(cacheDir) : []).map((name) => ({
    name,
    bytes: readFileSync(join(cacheDir, name)),
  }));

describe('the download folder', () => {
  test('serves the second load without a network, in this thread and in a worker', async () => {
    for (const worker of [false, true]) {
      const seen = /** @type {any[]} */ ([]);
      assert.deepEqual(
        await write(
          await open({
            worker,
            onProgress: (/** @type {any} */ p) => {
              if (p.phase === 'download') seen.push(p.fromCache);
            },
          }),
        ),
        want,
      );
      assert.equal(seen.at(-1), worker, 'the second one says where it came from');
    }
    assert.equal(server.asked.length, 1);
    const [file, ...others] = kept();
    assert.equal(others.length, 0);
    assert.match(file.name, /^[0-9a-f]{64}-m\.gguf$/);
    assert.equal(sum(file.bytes), sum(bytes));
    server.close();
    assert.deepEqual(await write(await open()), want);
    await refused(open({}, 'other.gguf'), 'network', /request failed/);
  });
  test('stores the files of a model folder, and which optional ones were absent', async () => {
    for (const name of ['config.json', 'model.safetensors'])
      files[`/m/${name}`] = { bytes: readFileSync(join(golden, 'llama_1tok', name)) };
    const first = await write(await open({}, 'm/'));
    server.close();
    assert.deepEqual(await write(await open({}, 'm/')), first);
  });
  test('stores nothing of a download that ends early, is aborted or has the wrong checksum', async () => {
    files['/m.gguf'] = { bytes, etag: null, cuts: [9000] };
    await refused(open(), 'network', /reading failed/);
    await refused(open({ sha256: '0'.repeat(64) }), 'bad-file', /SHA-256/);
    const controller = new AbortController();
    files['/m.gguf'] = {
      bytes,
      before: () => {
        controller.abort(new Error('enough'));
      },
    };
    await assert.rejects(open({ signal: controller.signal }), /enough/);
    files['/m.gguf'] = { bytes: Buffer.from('{"error":"rate limited"}') };
    await assert.rejects(open());
    for (let i = 0; i < 200 && kept().length; i++)
      await new Promise((done) => {
        setTimeout(done, 10);
      });
    assert.deepEqual(
      kept().map(({ name }) => name),
      [],
    );
    files['/m.gguf'] = { bytes };
    assert.deepEqual(await write(await open({ sha256: sum(bytes) })), want);
    assert.equal(kept().length, 1);
  });
  test("stores no answer whose content does not match the address's file type", async () => {
    /** @type {[string, string, number][]} */
    const answers = [
      ['m.gguf', 'GGUF and more', 1],
      ['m.gguf', 'the server is too busy', 0],
      ['m.safetensors', '12345678{"a":1}', 1],
      ['m.safetensors', 'too busy, try again', 0],
      ['m.json', '{"a":1}', 1],
      ['m.json', '{"error":"too many"}', 0],
      ['m.json', '{"a":', 0],
      ['m.bin', 'any bytes', 1],
      ['m.bin', '<!doctype html><p>busy', 0],
      ['m.bin?x=1', ' <html>', 0],
    ];
    for (const [name, text, kept] of answers) {
      const dir = join(folder, String(n++)),
        url = `https://files.test/${name}`,
        fetch = async () => new Response(text, { headers: { 'content-length': String(text.length) } });
      const keeping = await storedFetch(url, { cache: 'file', cacheDir: dir }, /** @type {any} */ (fetch), () => {});
      assert.equal(await (await keeping(url)).text(), text); // read to its end, before which a model reader would stop
      const names = () => readdirSync(dir);
      for (let i = 0; i < 200 && names().length !== kept; i++)
        await new Promise((done) => {
          setTimeout(done, 10);
        }); // a file that is not kept is removed a little later
      assert.equal(names().length, kept, `${name}: ${text}`);
    }
  });
  test('stores the whole file after a resumed download', async () => {
    files['/m.gguf'] = { bytes, cuts: [9000, 700] };
    assert.deepEqual(await write(await open({ sha256: sum(bytes) })), want);
    assert.deepEqual(
      kept().map((file) => sum(file.bytes)),
      [sum(bytes)],
    );
    assert.equal(server.asked.length, 3);
  });
  test('downloads again when its copy is damaged or has another checksum', async () => {
    await write(await open());
    const [{ name }] = kept(),
      path = join(cacheDir, name),
      spoilt = Buffer.from(bytes);
    spoilt[spoilt.length - 5] ^= 1;
    writeFileSync(path, spoilt);
    assert.deepEqual(await write(await open({ sha256: sum(bytes) })), want);
    assert.equal(sum(readFileSync(path)), sum(bytes));
    files['/m.gguf'] = { bytes: newer };
    await write(await open({ sha256: sum(newer) }));
    assert.equal(sum(readFileSync(path)), sum(newer));
    assert.equal(server.asked.length, 3);
  });
  test('has one complete file after several processes wrote it at once, and each process loads its model', async () => {
    const program = `
      import { load } from ${JSON.stringify(join(top, 'web/lib/index.js'))};
      const model = await load(${JSON.stringify(`${server.url}m.gguf`)}, { cache: 'file', cacheDir: ${JSON.stringify(cacheDir)} });
      const ids = [];
      for await (const { id } of model.generate([5], { maxTokens: 6, temperature: 0, ignoreEos: true })) ids.push(id);
      console.log(JSON.stringify(ids));
      model.dispose();`;
    files['/m.gguf'] = { bytes, together: 3 }; // no answer ends before all three requests have arrived
    const children = [1, 2, 3].map(() => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let out = '',
        err = '';
      child.stdout.on('data', (data) => {
        out += data;
      });
      child.stderr.on('data', (data) => {
        err += data;
      });
      return once(child, 'close').then(([code]) => ({ code, out, err }));
    });
    for (const { code, out, err } of await Promise.all(children))
      assert.deepEqual([code, JSON.parse(out || 'null')], [0, want], err);
    assert.equal(server.asked.length, 3);
    assert.deepEqual(
      kept().map((file) => sum(file.bytes)),
      [sum(bytes)],
    );
  });
  test('serves several loads at once, and removes the partial files of a process that has ended', async () => {
    mkdirSync(cacheDir, { recursive: true });
    const old = join(cacheDir, 'x.part'),
      fresh = join(cacheDir, 'y.part');
    for (const path of [old, fresh]) writeFileSync(path, 'half');
    utimesSync(old, new Date(0), new Date(0));
    files['/m.gguf'] = { bytes, together: 3 };
    assert.deepEqual(await Promise.all([open(), open(), open()].map(async (model) => write(await model))), [
      want,
      want,
      want,
    ]);
    assert.deepEqual([existsSync(old), existsSync(fresh)], [false, true], 'only what nobody can be writing is removed');
    assert.deepEqual(
      kept()
        .filter(({ name }) => name !== 'y.part')
        .map((file) => sum(file.bytes)),
      [sum(bytes)],
    );
  });
  test('does not serve a file that is still being written', async () => {
    files['/m.gguf'] = { bytes, together: 2 };
    const first = open();
    while (!kept().some((file) => file.bytes.length))
      await new Promise((done) => {
        setTimeout(done, 5);
      });
    assert.deepEqual(await write(await open()), want, 'the second asks the server');
    assert.deepEqual(await write(await first), want);
    assert.equal(server.asked.length, 2);
  });
  test('is refused with code storage when it cannot be used, and the message says what to do', async () => {
    writeFileSync(join(folder, 'file'), 'x');
    await refused(
      open({ cacheDir: join(folder, 'file', 'sub') }),
      'storage',
      /cache folder .*file.*(ENOTDIR|EEXIST).*cacheDir.*cache: 'none'/,
    );
    if (process.getuid?.() !== 0) {
      mkdirSync(cacheDir, { recursive: true });
      chmodSync(cacheDir, 0o500);
      await refused(open(), 'storage', /EACCES/);
    }
    for (const options of [
      { cacheDir: '' },
      { cacheDir: 5 },
      { cache: 'none' },
      { cache: undefined },
      { cache: 'files' },
    ])
      await refused(open(options), 'bad-option', /cache/);
  });
});

test('the default download folder is that of the platform', () => {
  const { env } = process,
    saved = { XDG_CACHE_HOME: env.XDG_CACHE_HOME, LOCALAPPDATA: env.LOCALAPPDATA };
  const platform = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(process, 'platform'));
  const on = (/** @type {string} */ name) => {
    Object.defineProperty(process, 'platform', { ...platform, value: name });
    return defaultCacheDir();
  };
  try {
    delete env.XDG_CACHE_HOME;
    assert.equal(on('linux'), join(homedir(), '.cache', 'glassformer'));
    env.XDG_CACHE_HOME = '/elsewhere';
    assert.equal(on('linux'), '/elsewhere/glassformer');
    env.XDG_CACHE_HOME = 'not/absolute'; // the XDG specification says to ignore a relative path
    assert.equal(on('linux'), join(homedir(), '.cache', 'glassformer'));
    assert.equal(on('darwin'), join(homedir(), 'Library', 'Caches', 'glassformer'));
    env.LOCALAPPDATA = '/local';
    assert.equal(on('win32'), '/local/glassformer');
  } finally {
    Object.defineProperty(process, 'platform', platform);
    for (const [name, value] of Object.entries(saved))
      if (value === undefined) delete env[name];
      else env[name] = value;
  }
});
