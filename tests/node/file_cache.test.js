// file_cache.test.js - cache: 'file': cached files are complete and correct, also when several processes write at once
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import { defaultCacheDir } from '../../web/lib/files/transfer/file_store.js';
import { openDownloads } from '../../web/lib/files/transfer/cached_downloads.js';
import { GlassformerError, load, modelCache } from '../../web/lib/api/index.js';
import { serveCut, shortWaits } from './cut_server.js';
import { until } from '../patience.js';
import { temporaryFolder } from '../temporary.js';
import { golden, refused, sixIds, top } from './helpers.js';

const bytes = readFileSync(join(golden, 'gguf_llama_q8_0/model.gguf')),
  newer = readFileSync(join(golden, 'gguf_llama_q4_0/model.gguf'));
const sum = (b) => createHash('sha256').update(b).digest('hex');
const want = await sixIds(await load(bytes));
const folder = temporaryFolder('cache');
after(shortWaits());
let n = 0,
  cacheDir = '',
  files = {},
  server;

beforeEach(async () => {
  cacheDir = join(folder, String(n++), 'deep');
  files = { '/m.gguf': { bytes } };
  server = await serveCut(files);
});
afterEach(() => server.close());

const open = (options = {}, path = 'm.gguf') => load(`${server.url}${path}`, { cache: 'file', cacheDir, ...options });
const kept = () =>
  (existsSync(cacheDir) ? readdirSync(cacheDir) : []).map((name) => ({
    name,
    bytes: readFileSync(join(cacheDir, name)),
  }));
/** The SHA-256 of each complete file of the folder, joined from its pieces. */
const sums = () =>
  kept()
    .filter(({ name }) => name.endsWith('.complete'))
    .map(({ name, bytes }) => {
      const pieces = JSON.parse(String(bytes)).pieces;
      const start = name.replace(/complete$/, '');
      return sum(Buffer.concat(pieces.map((piece) => readFileSync(join(cacheDir, start + piece)))));
    });
/** Change the largest file of the folder: the bytes of the model. */
const damage = (change) => {
  const [{ name, bytes: old }] = kept().sort((a, b) => b.bytes.length - a.bytes.length);
  writeFileSync(join(cacheDir, name), change(Buffer.from(old)));
};

describe('the download folder', () => {
  test('serves the second load without a network, in this thread and in a worker', async () => {
    for (const worker of [false, true]) {
      const seen = [];
      assert.deepEqual(
        await sixIds(
          await open({
            worker,
            onProgress: (p) => {
              if (p.phase === 'download') seen.push(p.fromCache);
            },
          }),
        ),
        want,
      );
      assert.equal(seen.at(-1), worker, 'the second one says where it came from');
    }
    assert.equal(server.asked.length, 1);
    for (const { name } of kept()) assert.match(name, /^[0-9a-f]{64}-m\.gguf\./);
    assert.equal(kept().length, 2, 'a record and one piece');
    assert.deepEqual(sums(), [sum(bytes)]);
    server.close();
    assert.deepEqual(await sixIds(await open()), want);
    await refused(open({}, 'other.gguf'), 'network', /request failed/);
  });
  test('stores the files of a model folder, and which optional ones were absent', async () => {
    for (const name of ['config.json', 'model.safetensors'])
      files[`/m/${name}`] = { bytes: readFileSync(join(golden, 'llama_1tok', name)) };
    const first = await sixIds(await open({}, 'm/'));
    server.close();
    assert.deepEqual(await sixIds(await open({}, 'm/')), first);
  });
  test('is listed, counted and removed by modelCache', async () => {
    for (const name of ['config.json', 'model.safetensors'])
      files[`/m/${name}`] = { bytes: readFileSync(join(golden, 'llama_1tok', name)) };
    files['/cut.gguf'] = { bytes, cuts: [9000, 0, 0, 0, 0, 0] };
    for (const path of ['m.gguf', 'm/']) (await open({}, path)).dispose();
    await refused(open({}, 'cut.gguf'), 'network', /brought nothing/);
    const cache = await modelCache({ cacheDir });
    const list = await cache.list();
    const of = (path) => list.find(({ url }) => url === server.url + path) ?? {};
    assert.deepEqual([of('m.gguf').bytes, of('m.gguf').complete], [bytes.length, true]);
    assert.deepEqual([of('cut.gguf').complete, of('cut.gguf').bytes < bytes.length], [false, true]);
    const folderBytes = ['config.json', 'model.safetensors'].reduce(
      (n, name) => n + files[`/m/${name}`].bytes.length,
      0,
    );
    assert.equal(await cache.size(), bytes.length + of('cut.gguf').bytes + folderBytes);
    assert.equal(await cache.delete(`${server.url}m/`), 2);
    assert.deepEqual([await cache.delete(`${server.url}m.gguf`), await cache.delete('hf:no/body')], [1, 0]);
    assert.deepEqual(
      (await cache.list()).map(({ url }) => url),
      [`${server.url}cut.gguf`],
    );
    assert.deepEqual([await cache.clear(), await cache.persist(), kept().length], [1, true, 0]);
    await assert.rejects(modelCache({ cache: 'none' }), { code: 'bad-option' });
    await assert.rejects(modelCache({ cache: 'opfs' }), { code: 'unsupported' });
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
    await assert.rejects(open(), GlassformerError);
    assert.deepEqual(
      kept().map(({ name }) => name),
      [],
    );
    files['/m.gguf'] = { bytes };
    assert.deepEqual(await sixIds(await open({ sha256: sum(bytes) })), want);
    assert.deepEqual(sums(), [sum(bytes)]);
  });
  // Every body that ended without an error was stored, whatever the reader said of it, and used by each later load.
  test('stores no answer that the reader refuses, and the next load requests the file again', async () => {
    const answers = [
      ['m.gguf', { bytes: bytes.subarray(0, 9000), chunked: true }],
      ['m.gguf', { bytes: bytes.subarray(0, bytes.length - 1), chunked: true, etag: null }],
      ['m.gguf', { bytes: new Uint8Array(0) }],
      ['m.gguf', { bytes: Buffer.from('GGUF and more') }],
      ['m.bin', { bytes: Buffer.from('Service busy') }],
      ['m.bin', { bytes: Buffer.from('<!doctype html><p>busy') }],
    ];
    for (const [name, answer] of answers) {
      files[`/${name}`] = answer;
      await assert.rejects(open({}, name), GlassformerError);
      assert.deepEqual(kept(), [], name);
      files[`/${name}`] = { bytes };
      assert.deepEqual(await sixIds(await open({}, name)), want);
      rmSync(cacheDir, { recursive: true });
    }
  });
  test('stores no JSON file that holds an error in place of its content', async () => {
    for (const name of ['config.json', 'model.safetensors'])
      files[`/m/${name}`] = { bytes: readFileSync(join(golden, 'llama_1tok', name)) };
    files['/m/generation_config.json'] = { bytes: Buffer.from('{"error":"too many requests"}') };
    (await open({}, 'm/')).dispose();
    assert.equal(kept().filter(({ name }) => /generation_config/.test(name)).length, 0);
    rmSync(cacheDir, { recursive: true });
    // a file of more than a megabyte is no such error, and is not parsed a second time
    const long = { bos_token_id: 1, note: 'x'.repeat(1 << 21), error: 'not of a server' };
    files['/m/generation_config.json'] = { bytes: Buffer.from(JSON.stringify(long)) };
    (await open({}, 'm/')).dispose();
    assert.equal(kept().filter(({ name }) => /generation_config.*complete/.test(name)).length, 1);
  });
  // What had arrived was lost with the process, or with the page.
  for (const [what, about] of [
    ['ETag', {}],
    ['Last-Modified', { etag: null, modified: 'Sat, 01 Nov 2025 10:00:00 GMT', chunked: true }],
  ]) {
    test(`continues a download that an earlier load began, by ${what}`, async () => {
      files['/m.gguf'] = { bytes, cuts: [9000, 0, 0, 0, 0, 0], ...about };
      await refused(open(), 'network', /requests for the rest brought nothing/);
      assert.deepEqual(sums(), []);
      files['/m.gguf'] = { bytes, ...about };
      server.asked.length = 0;
      assert.deepEqual(await sixIds(await open({ sha256: sum(bytes) })), want);
      assert.deepEqual(
        server.asked.map((r) => [r.range, r.status, r.headers['if-range']]),
        [['bytes=9000-', 206, about.modified ?? '"one"']],
      );
      assert.deepEqual(sums(), [sum(bytes)]);
      server.close();
      assert.deepEqual(await sixIds(await open()), want);
    });
  }
  test('begins anew when the file has changed since, the part is damaged or the server sends no ranges', async () => {
    const cases = [
      [{ etag: '"two"' }, () => {}, [200]],
      [{ etag: '"two"', ranges: false }, () => {}, [200]],
      [{ ranges: false }, () => {}, [200]],
      [{}, () => damage((old) => old.fill(0)), [206, 200]],
      [{ before: (r, s) => (s.bytes = r.headers.range ? newer : bytes) }, () => {}, [206, 200]],
      [{}, () => {}, [206, 200]], // of another size
      [{}, () => spoilEtag(), [200]], // no header takes it: every load failed
    ];
    const spoilEtag = () => {
      const [{ name, bytes: record }] = kept().filter((file) => file.name.endsWith('.partial'));
      writeFileSync(join(cacheDir, name), record.toString().replace('one', 'o\ufffde'));
    };
    const first = { 4: newer.subarray(0, 9000), 5: Buffer.concat([bytes, bytes]) };
    for (const [i, [about, meanwhile, statuses]] of cases.entries()) {
      files['/m.gguf'] = { bytes: first[i] ?? bytes, cuts: [8000, 0, 0, 0, 0, 0] };
      await refused(open(), 'network', /requests for the rest/);
      meanwhile();
      files['/m.gguf'] = { bytes, ...about };
      server.asked.length = 0;
      assert.deepEqual(await sixIds(await open()), want, `case ${i}`);
      assert.deepEqual(
        server.asked.map((r) => r.status),
        statuses,
        `case ${i}`,
      );
      assert.deepEqual(sums(), [sum(bytes)]);
      rmSync(cacheDir, { recursive: true });
    }
  });
  test('continues a download of which a process was killed', async () => {
    const big = Buffer.concat([bytes, Buffer.alloc(9 << 20, 7)]); // more than two pieces
    files['/m.gguf'] = { bytes: big, cuts: [9 << 20], held: true };
    const program = `
      import { openDownloads } from ${JSON.stringify(join(top, 'web/lib/files/transfer/cached_downloads.js'))};
      import { loadFetch } from ${JSON.stringify(join(top, 'web/lib/files/transfer/requests.js'))};
      const url = ${JSON.stringify(`${server.url}m.gguf`)};
      const downloads = await openDownloads(url, { cache: 'file', cacheDir: ${JSON.stringify(cacheDir)} }, loadFetch(url, {}));
      const reader = (await downloads.fetch(() => {})(url)).body.getReader();
      for (let n = 0; n < 9 << 20;) n += (await reader.read()).value.length;
      process.kill(process.pid, 'SIGKILL');`;
    await once(spawn(process.execPath, ['--input-type=module', '-e', program]), 'close');
    files['/m.gguf'] = { bytes: big };
    server.asked.length = 0;
    const downloads = await openDownloads(`${server.url}m.gguf`, { cache: 'file', cacheDir }, fetch);
    const response = await downloads.fetch(() => {})(`${server.url}m.gguf`);
    assert.equal(sum(new Uint8Array(await response.arrayBuffer())), sum(big));
    await downloads.accept([]);
    assert.deepEqual(
      server.asked.map((r) => r.range),
      [`bytes=${8 << 20}-`],
    );
    assert.deepEqual(sums(), [sum(big)]);
  });
  test('stores the whole file after a resumed download', async () => {
    files['/m.gguf'] = { bytes, cuts: [9000, 700] };
    assert.deepEqual(await sixIds(await open({ sha256: sum(bytes) })), want);
    assert.deepEqual(sums(), [sum(bytes)]);
    assert.equal(server.asked.length, 3);
  });
  // A damaged copy failed every load, or loaded with wrong weights.
  test('downloads again when its copy is truncated, empty, zeroed, too long or has a flipped bit', async () => {
    const changes = [
      (old) => old.subarray(0, 9000),
      (old) => old.subarray(0, 0),
      (old) => old.fill(0),
      (old) => Buffer.concat([old, Buffer.from('x')]),
      (old) => old.fill(old[old.length - 5] ^ 1, old.length - 5, old.length - 4),
      (old) => old.fill(old[100] ^ 128, 100, 101),
    ];
    for (const sha256 of [undefined, sum(bytes)]) {
      await sixIds(await open({ sha256 }));
      for (const [i, change] of changes.entries()) {
        damage(change);
        server.asked.length = 0;
        assert.deepEqual(await sixIds(await open({ sha256 })), want, `damage ${i}`);
        assert.equal(server.asked.length, 1, `damage ${i}`);
        assert.deepEqual(sums(), [sum(bytes)]);
      }
    }
    damage(changes[0]);
    server.close();
    await refused(open(), 'bad-file', /m\.gguf: its copy in the cache is damaged/);
  });
  test('downloads again when its copy has another checksum', async () => {
    await sixIds(await open());
    files['/m.gguf'] = { bytes: newer };
    await sixIds(await open({ sha256: sum(newer) }));
    assert.deepEqual(sums(), [sum(newer)]);
    await sixIds(await open({ sha256: sum(newer).toUpperCase() }));
    assert.equal(server.asked.length, 2);
    assert.equal(kept().length, 2, 'the pieces of the earlier file are removed');
  });
  test('keeps the complete copy when the reader refuses it and the server has no other', async () => {
    const wrong = { config: { num_hidden_layers: 9 } };
    for (const name of ['config.json', 'model.safetensors'])
      files[`/m/${name}`] = { bytes: readFileSync(join(golden, 'llama_1tok', name)) };
    const first = await sixIds(await open({}, 'm/'));
    await assert.rejects(open(wrong, 'm/'), GlassformerError);
    server.close();
    await assert.rejects(open(wrong, 'm/'), (e) => e.code !== 'network');
    assert.deepEqual(await sixIds(await open({}, 'm/')), first);
  });
  test('moves a file that an earlier version stored, and downloads it again when it is damaged', async () => {
    const name = `${createHash('sha256').update(`${server.url}m.gguf`).digest('hex')}-m.gguf`;
    mkdirSync(cacheDir, { recursive: true });
    for (const [content, requests] of [
      [bytes, 0],
      [bytes.subarray(0, 9000), 1],
    ]) {
      for (const file of kept()) rmSync(join(cacheDir, file.name));
      writeFileSync(join(cacheDir, name), content);
      assert.deepEqual(await sixIds(await open()), want);
      assert.equal(existsSync(join(cacheDir, name)), false);
      assert.deepEqual(sums(), [sum(bytes)]);
      assert.equal(server.asked.length, requests);
    }
  });
  test('has one complete file after several processes wrote it at once, and each process loads its model', async () => {
    const program = `
      import { load } from ${JSON.stringify(join(top, 'web/lib/api/index.js'))};
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
    assert.deepEqual(sums(), [sum(bytes)]);
  });
  test('serves several loads at once, and removes the partial files of a process that has ended', async () => {
    mkdirSync(cacheDir, { recursive: true });
    const old = join(cacheDir, 'x.part'),
      fresh = join(cacheDir, 'y.part');
    for (const path of [old, fresh]) writeFileSync(path, 'half');
    utimesSync(old, new Date(0), new Date(0));
    files['/m.gguf'] = { bytes, together: 3 };
    assert.deepEqual(await Promise.all([open(), open(), open()].map(async (model) => sixIds(await model))), [
      want,
      want,
      want,
    ]);
    assert.deepEqual([existsSync(old), existsSync(fresh)], [false, true], 'only what nobody can be writing is removed');
    assert.deepEqual(sums(), [sum(bytes)]);
  });
  test('does not serve a file that is still being written', async () => {
    files['/m.gguf'] = { bytes, together: 2 };
    const first = open();
    await until(() => server.asked.length);
    assert.deepEqual(await sixIds(await open()), want, 'the second asks the server');
    assert.deepEqual(await sixIds(await first), want);
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
  const platform = Object.getOwnPropertyDescriptor(process, 'platform');
  const on = (name) => {
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
