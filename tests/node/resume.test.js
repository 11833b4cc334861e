// resume.test.js - interrupted downloads continue, or reject with the reason why they cannot
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { transferRate } from '../../web/lib/files/transfer/transfer_rate.js';
import { load } from '../../web/lib/api/index.js';
import { serveCut, shortWaits } from './cut_server.js';
import { until } from '../patience.js';
import { golden, refusal, refused, sixIds } from './helpers.js';

const bytes = readFileSync(join(golden, 'gguf_llama_q8_0/model.gguf')),
  other = readFileSync(join(golden, 'gguf_llama_q4_0/model.gguf'));
const sha256 = createHash('sha256').update(bytes).digest('hex');
const want = await sixIds(await load(bytes));

/**
 * @param {import('./cut_server.js').Served} served
 * @param {object} options
 * @param {(server: any) => Promise<void>} check
 */
async function served(served, options, check) {
  const server = await serveCut({ '/m.gguf': served });
  try {
    await check({
      load: (more) => load(`${server.url}m.gguf`, { ...options, ...more }),
      of: () => server.of('/m.gguf'),
    });
  } finally {
    server.close();
  }
}

/** Cut once, and then each request for the rest brings nothing. */
const cutForGood = {
  bytes,
  before: (request, served) => {
    served.cuts = [request.headers.range ? 0 : 9000];
  },
};
/** A file that is another one when its rest is requested. */
const changing = () => ({
  bytes,
  cuts: [9000],
  before: (request, served) => {
    if (request.headers.range) Object.assign(served, { bytes: other, etag: '"two"' });
  },
});
/** A body that gives these bytes and then breaks off. @param {Uint8Array} part */
function breaking(part) {
  let sent = 0;
  return new ReadableStream({
    pull(to) {
      if (sent++) to.error(new TypeError('cut'));
      else to.enqueue(Uint8Array.from(part));
    },
  });
}
/** Abort a load once the server was asked so many times. */
async function abortedAfter(n, { load: open, of }) {
  const controller = new AbortController(),
    loading = open({ signal: controller.signal });
  loading.catch(() => {});
  await until(() => of().length >= n);
  controller.abort(new Error('enough'));
  await assert.rejects(loading, /enough/);
}

for (const worker of [false, true]) {
  describe(worker ? 'in a worker' : 'in this thread', () => {
    test('a download that is interrupted several times continues with the missing bytes', () =>
      served({ bytes, cuts: [9000, 100, 5000] }, { worker }, async ({ load: open, of }) => {
        assert.deepEqual(await sixIds(await open({ sha256 })), want);
        const ranges = of().map((r) => r.range);
        assert.deepEqual([ranges.length, ranges[0]], [4, undefined]);
        const starts = ranges.slice(1).map((r) => Number(/^bytes=(\d+)-$/.exec(r)?.[1]));
        assert.ok(starts[0] > 0 && starts[0] <= 9000 && starts[1] > starts[0] && starts[2] > starts[1], String(starts));
        assert.ok(
          of()
            .slice(1)
            .every((r) => r.status === 206 && r.headers['if-range'] === '"one"'),
        );
      }));
    test('progress counts each byte once', () =>
      served({ bytes, cuts: [9000] }, { worker }, async ({ load: open }) => {
        const seen = [];
        (
          await open({
            onProgress: (p) => {
              if (p.phase === 'download') seen.push(p);
            },
          })
        ).dispose();
        assert.deepEqual([seen.at(-1).loaded, seen.at(-1).total], [bytes.length, bytes.length]);
      }));
    test('a file that changed during the download is refused', () =>
      served(changing(), { worker }, async ({ load: open, of }) => {
        await refused(
          open(),
          'network',
          /m\.gguf: the connection was cut after \d+ of \d+ bytes, and the file on the server has changed since/,
        );
        assert.equal(of().length, 2);
        assert.equal((await sixIds(await load(other))).length, 6);
      }));
  });
}

test('a server without range requests sends the file again, and known bytes are skipped', () =>
  served({ bytes, ranges: false, cuts: [9000, 12000, 4000] }, {}, async ({ load: open, of }) => {
    assert.deepEqual(await sixIds(await open({ sha256 })), want);
    assert.deepEqual(
      of().map((r) => r.status),
      [200, 200, 200, 200],
    );
  }));
test('a changed file from a server without range requests is refused', () =>
  served({ ...changing(), ranges: false }, {}, ({ load: open }) => refused(open(), 'network', /has changed since/)));
test('Last-Modified is used where there is no ETag, also without a length', () =>
  served(
    { bytes, etag: null, modified: 'Sat, 01 Nov 2025 10:00:00 GMT', cuts: [9000], chunked: true },
    {},
    async ({ load: open, of }) => {
      assert.deepEqual(await sixIds(await open({ sha256 })), want);
      assert.equal(of()[1].headers['if-range'], 'Sat, 01 Nov 2025 10:00:00 GMT');
    },
  ));
test('a download without a strong validator, or with compressed bytes, is not resumed', async () => {
  for (const about of [
    { etag: null },
    { etag: 'W/"weak"' },
    { headers: { 'accept-ranges': 'none' } },
    { bytes: gzipSync(bytes), headers: { 'content-encoding': 'gzip' } },
  ]) {
    await served({ bytes, cuts: [9000], ...about }, {}, async ({ load: open, of }) => {
      await refused(open(), 'network', /reading failed after \d+ bytes/);
      assert.equal(of().length, 1, JSON.stringify(about).slice(0, 60));
    });
  }
});
test('retries stop after repeated server errors, and continue after a short failure', async (t) => {
  t.after(shortWaits());
  let failures = 2;
  const moment = (request, s) => {
    s.cuts = request.headers.range ? (failures-- > 0 ? [0] : []) : [9000];
  };
  await served({ bytes, before: moment }, {}, async ({ load: open }) => {
    assert.deepEqual(await sixIds(await open({ sha256 })), want);
  });
  await served(cutForGood, {}, async ({ load: open, of }) => {
    await refused(open(), 'network', /cut after \d+ of \d+ bytes, and 5 requests for the rest brought nothing/);
    assert.equal(of().length, 6);
  });
});
// A connection that was not closed and brought nothing more was waited for without end.
test('a connection that stays open and brings nothing more counts as interrupted', async (t) => {
  let end = shortWaits(100, Infinity);
  t.after(() => end());
  const before = (request) => request.headers.range && end(); // the rest may take its time
  await served({ bytes, cuts: [9000], silent: true, before }, {}, async ({ load: open, of }) => {
    assert.deepEqual(await sixIds(await open({ sha256 })), want);
    assert.ok(of().length > 1);
  });
  end = shortWaits(100, Infinity);
  await served({ ...cutForGood, silent: true }, {}, async ({ load: open, of }) => {
    const { code, cause } = await refusal(open);
    assert.deepEqual([code, cause?.name], ['network', 'TimeoutError']);
    assert.equal(of().length, 6);
  });
});
test('a download may be interrupted any number of times as long as each request brings bytes', async () => {
  const requestedRanges = [],
    part = Math.ceil(bytes.length / 8);
  const fetch = async (url, init) => {
    const range = new Headers(init?.headers).get('range'),
      from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    requestedRanges.push(range);
    const own = bytes.subarray(from, from + part),
      body = from + part < bytes.length ? breaking(own) : own;
    const headers = {
      etag: '"one"',
      'content-length': String(bytes.length - from),
      ...(range && { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
    };
    return new Response(body, { status: range ? 206 : 200, headers });
  };
  assert.deepEqual(await sixIds(await load('https://h.example/m.gguf', { fetch, sha256 })), want);
  assert.deepEqual(requestedRanges, [null, ...Array.from({ length: 7 }, (_, i) => `bytes=${part * (i + 1)}-`)]);
});
test('an answer with the wrong range is refused', async () => {
  for (const [headers, words] of [
    [{ 'content-range': 'bytes 3-4/5' }, /changed/],
    [{ 'content-range': `bytes 3-4/${bytes.length}` }, /another part/],
    [{ 'content-range': 'nonsense' }, /another part/],
  ]) {
    const fetch = async (url, init) => {
      const part = new Headers(init?.headers).has('range');
      if (part) return new Response(bytes.subarray(3, 5), { status: 206, headers: { etag: '"one"', ...headers } });
      return new Response(breaking(bytes.subarray(0, 9000)), {
        headers: { etag: '"one"', 'content-length': String(bytes.length) },
      });
    };
    await refused(load('https://h.example/m.gguf', { fetch }), 'network', words);
  }
  const gone = async (url, init) =>
    new Headers(init?.headers).has('range')
      ? new Response('', { status: 404 })
      : new Response(breaking(bytes.subarray(0, 50)), {
          headers: { etag: '"one"', 'content-length': String(bytes.length) },
        });
  await refused(load('https://h.example/m.gguf', { fetch: gone }), 'network', /then answered 404/);
});
// The first answer of a busy server failed the load.
for (const worker of [false, true]) {
  test(`a busy server is asked again ${worker ? 'in a worker' : 'in this thread'}`, (t) => {
    if (!worker) t.after(shortWaits());
    return served({ bytes, busy: [503, 429, 500, 502], cuts: [9000] }, { worker }, async ({ load: open, of }) => {
      assert.deepEqual(await sixIds(await open({ sha256 })), want);
      assert.deepEqual(
        of().map((r) => r.status),
        [503, 429, 500, 502, 200, 206],
      );
    });
  });
}
test('a server that stays busy is asked six times, and is named in the error', (t) => {
  t.after(shortWaits());
  return served({ bytes, busy: Array(9).fill(504) }, {}, async ({ load: open, of }) => {
    await refused(open(), 'network', /m\.gguf: the server answered 504/);
    assert.equal(of().length, 6);
  });
});
test('Retry-After is obeyed, as seconds and as a date, and a longer one than half a minute ends the load', async () => {
  for (const date of [false, true]) {
    const began = performance.now(); // before the date is made, which may pass while the server starts
    const retryAfter = date ? new Date(Date.now() + 2000).toUTCString() : '1';
    await served({ bytes, busy: [503], retryAfter }, {}, async ({ load: open }) => {
      assert.deepEqual(await sixIds(await open()), want);
      assert.ok(performance.now() - began >= 900);
    });
  }
  await served({ bytes, busy: [503], retryAfter: '3600' }, {}, async ({ load: open, of }) => {
    await refused(open(), 'network', /answered 503/);
    assert.equal(of().length, 1);
  });
});
test('an abort during the wait for a busy server takes effect at once', () =>
  served({ bytes, busy: [503], retryAfter: '20' }, {}, async (server) => {
    await abortedAfter(1, server);
    assert.equal(server.of().length, 1);
  }));
test('an abort between two attempts takes effect at once', () =>
  served(cutForGood, {}, (server) => abortedAfter(2, server)));

test('the rate of a transfer is that of its last seconds', () => {
  const rate = transferRate();
  assert.equal(rate(0, 0), null);
  assert.equal(rate(500, 100), null, 'too short a time');
  assert.equal(rate(1000, 1000), 1000);
  for (let s = 2; s <= 20; s++) assert.equal(rate(1000 * s, 1000 * s), 1000);
  // it becomes ten times as fast: after the length of the window only this counts
  let last;
  for (let s = 21; s <= 30; s++) last = rate(20_000 + 10_000 * (s - 20), 1000 * s);
  assert.equal(last, 10_000);
  assert.equal(transferRate()(5, 1e6), null);
});
