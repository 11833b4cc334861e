// tutorials.test.js - each claim of the five tutorials, run by the page's code; and a check that each claim fails under
// at least one fault of the engine
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as glassformer from '../../web/lib/index.js';
import { TUTORIALS, flipping, runClaim } from '../../web/page/claims/index.js';
import { text } from '../../web/page/claims/outcome.js';
import { TEXTBOOK } from '../../web/page/text/textbook.js';
import { distance } from '../../web/page/claims/arithmetic.js';
import { erf, flat } from '../../web/page/claims/double_precision.js';
import { reference } from '../../web/page/claims/reference.js';
import { golden, openCase, readTensors, shared } from './helpers.js';

const tutorials = (await Promise.all(TUTORIALS.map(({ open }) => open()))).map(({ sections }) => sections);
const all = tutorials.map((sections) => sections.flatMap(({ claims }) => claims.map(({ claim }) => claim)));

for (const claim of all.flat()) {
  test(`tutorial ${claim.tutorial}: ${claim.text}`, async () => {
    const { expected, found, ok, printed, note } = await claim.run(glassformer);
    assert.ok(ok, `expected ${expected}, found ${found}${note ? ` (${note})` : ''}`);
    assert.ok(expected && found && found !== 'undefined');
    if (printed) assert.ok(note, 'a printed figure that the code does not give needs its reason');
  });
}

test('every claim has a unique id and the number of its tutorial', () => {
  const names = all.flat().map((c) => c.id);
  assert.equal(new Set(names).size, names.length);
  all.forEach((claims, i) => assert.ok(claims.length > 15 && claims.every((c) => c.tutorial === TUTORIALS[i].number)));
});

test('each claim of the files is in one section, and is seen on a page of the textbook with a model that can be made', async () => {
  const folder = new URL('../../web/page/claims/', import.meta.url);
  for (const [i, sections] of tutorials.entries()) {
    const names = readdirSync(new URL(`tutorial${i + 1}/`, folder));
    const files = await Promise.all(names.map((name) => import(new URL(`tutorial${i + 1}/${name}`, folder))));
    const ids = files.flatMap(({ runs }) => Object.keys(runs).map((name) => `${i + 1}-${name}`));
    assert.deepEqual(all[i].map((claim) => claim.id).sort(), ids.sort());
    for (const { place } of sections.flatMap(({ claims }) => claims)) {
      if (place.page === 'compare') assert.ok(glassformer.PRESETS[place.model], place.model);
      else
        assert.ok(
          TEXTBOOK.some(({ id }) => id === place.page),
          place.page,
        );
      if (typeof place.model === 'string') continue;
      const { preset, ...changes } = place.model;
      const config = glassformer.completeConfig({ ...glassformer.PRESETS[preset], ...changes });
      const page = TEXTBOOK.find(({ id }) => id === place.page);
      assert.ok(page.when?.(config) ?? true, `${place.page} has nothing to show of ${JSON.stringify(place.model)}`);
    }
  }
});

test('tables and exercises have the figures of the tutorials', () => {
  const tables = tutorials.flat().flatMap(({ table }) => (table ? [table(glassformer)] : []));
  const cells = tables.map(({ rows }) => rows.map((row) => row.join(' | ')).join('\n'));
  assert.match(cells[0], /Attention, one block \| 2,359,296 \|[^]*One block \| 7,079,424 [^]*Total \| 123,551,232/);
  assert.match(cells[1], /One encoder block \| 33,472 [^]*One decoder block \| 50,240 [^]*Total \| 296,424/);
  assert.match(cells[2], /One block \| 49,408/);
  assert.match(cells[3], /1558M \| 48 \| 25 \| 1,600 \| 50,257 \| 1,024 \| 1,557,611,200/);
  const answers = [...tutorials[0].at(-1).exercises, ...tutorials[4].slice(-2).flatMap(({ exercises }) => exercises)]
    .filter(({ answer }) => answer)
    .map(({ answer }) => answer(glassformer));
  const right = ['Inside', 'pre', '2048', '5', '0', '924,928', '6.91', '1.31e9', '128,000', '512'];
  assert.deepEqual(
    answers.map(({ matches }, i) => matches(right[i]) && !matches('7')),
    right.map(() => true),
  );
});

test('numbers are formatted as the page shows them', () => {
  const written = [
    [0, '0'],
    [38597376, '38,597,376'],
    [0.1, '0.1'],
    [0.0001, '0.0001'],
    [8.5e-7, '8.5 × 10⁻⁷'],
    [99999.5, '100000'],
    [1234.5678, '1235'],
    [-0.25, '-0.25'],
    [3e20, '3 × 10²⁰'],
    [NaN, 'NaN'],
  ];
  assert.deepEqual(
    written.map(([x]) => text(x)),
    written.map(([, said]) => said),
  );
});

test('one flipped byte of a weight file makes claims of every tutorial fail', async () => {
  const bad = flipping(glassformer);
  for (const claims of all) {
    const [reference] = claims.filter((c) => c.id.endsWith('-reference'));
    const { ok, found } = await runClaim(reference, bad);
    assert.equal(ok, false, `${reference.id}: found ${found} after the flip`);
    assert.ok(Number(found.replace('off by ', '')) > 1e-4, found);
  }
});

// ---- faults: each claim must fail under at least one of them

const bendTensor = (t) => t && { shape: t.shape, data: t.data.map((v, i) => v * 1.3 + 0.05 * (((i * 7919) % 11) - 5)) };
const bendTable = (table) => ({
  ...table,
  total: table.total + 1,
  nonEmbedding: table.nonEmbedding + 1,
  rows: table.rows.map((r) => ({
    ...r,
    count: r.count + 1,
    shape: r.shape.map((n) => n + 1),
    name: r.name.replace('.weight', '.bias'),
  })),
});

/** Another model with the same face, one of its faculties bent. */
function bendModel(model, fault) {
  const bent =
    {
      values: {
        forward: async (...a) => {
          const r = await model.forward(...a);
          return {
            ...r,
            logits: bendTensor(r.logits),
            hidden: bendTensor(r.hidden),
            captured: Object.fromEntries(Object.entries(r.captured).map(([k, t]) => [k, bendTensor(t)])),
          };
        },
      },
      captures: {
        forward: async (...a) => {
          const r = await model.forward(...a);
          return {
            ...r,
            captured: Object.fromEntries(Object.entries(r.captured).map(([k, t], i) => [k, i ? t : bendTensor(t)])),
          };
        },
      },
      shapes: {
        forward: async (...a) => {
          const r = await model.forward(...a);
          return {
            ...r,
            logits: { ...r.logits, shape: r.logits.shape.map((n) => n + 1) },
            captured: Object.fromEntries(
              Object.entries(r.captured).map(([k, t]) => [k, { ...t, shape: t.shape.map((n) => n + 1) }]),
            ),
          };
        },
      },
      drift: (() => {
        let n = 0;
        return {
          forward: async (...a) => {
            const r = await model.forward(...a);
            r.logits?.data.forEach((v, i) => {
              r.logits.data[i] = v * (1 + 0.5 * n) + n;
            });
            n++;
            return r;
          },
        };
      })(),
      edits: { forward: (input, o = {}) => model.forward(input, { ...o, edits: [] }) },
      sampler: { distribution: async (logits, o) => (await model.distribution(logits, o)).map((v) => 0.9 * v + 0.001) },
      weights: { weight: async (...a) => (await model.weight(...a)).map((v) => 1.1 * v + 0.01) },
      trace: {
        trace: async (...a) => (await model.trace(...a)).map((r) => ({ ...r, flops: 1, out: r.out.map((n) => n + 1) })),
      },
      context: { forward: (input, o) => model.forward(Array.from(input).slice(0, 32), o) },
      generate: {
        async *generate(...a) {
          const g = model.generate(...a);
          for (;;) {
            const { done, value } = await g.next();
            if (done)
              return {
                ...value,
                ids: value.ids.map((id) => (id + 1) % 40),
                sequences: value.sequences?.map((s) => s.slice(1)),
              };
            yield value;
          }
        },
      },
      session: {
        session: async (...a) => {
          const s = await model.session(...a);
          return {
            get length() {
              return s.length;
            },
            bytes: 4096,
            close: () => s.close(),
            eval: async (x) => (await s.eval(x)).map((v) => v * 1.2 + 0.01),
            get captured() {
              return Object.fromEntries(
                Object.entries(s.captured).map(([k, t]) => [k, { ...t, data: t.data.map((v) => v + s.length) }]),
              );
            },
          };
        },
      },
      memory: { memory: { totalBytes: 1, regions: [{ name: 'scratch', start: 0, bytes: 1000 }] } },
      source: {
        forward: (input, o = {}) =>
          model.forward(input, o.source && !Array.isArray(o.source[0]) ? { ...o, source: o.source.map(() => 1) } : o),
      },
    }[fault] ?? {};
  return new Proxy(model, {
    get: (m, key) => (key in bent ? bent[key] : typeof m[key] === 'function' ? m[key].bind(m) : m[key]),
  });
}

/** @returns {any} */
function bend(fault) {
  const making =
    (make) =>
    async (...a) =>
      bendModel(await make(...a), fault);
  const lenient =
    (make) =>
    async (...a) => {
      try {
        return await make(...a);
      } catch {
        return { dispose() {} };
      }
    };
  return {
    ...glassformer,
    load: making(glassformer.load),
    create: making(glassformer.create),
    ...(fault === 'counts' && { countParameters: (c) => bendTable(glassformer.countParameters(c)) }),
    ...(fault === 'rows' && {
      countParameters: (c) => {
        const t = glassformer.countParameters(c);
        return {
          ...t,
          rows: t.rows.map((r) =>
            /ffn|norm/.test(r.component) ? { ...r, count: 3 * r.count + 1, layer: r.layer ? 0 : r.layer } : r,
          ),
        };
      },
    }),
    ...(fault === 'tables' && {
      countParameters: (c) => {
        const t = glassformer.countParameters(c);
        return {
          ...t,
          total: 1.1 * t.total,
          rows: t.rows.map((r) => (/position|norm/.test(r.component) ? { ...r, count: 3 * r.count } : r)),
        };
      },
    }),
    ...(fault === 'estimates' && {
      estimate: (c, o) =>
        Object.fromEntries(
          Object.entries(glassformer.estimate(c, o)).map(([k, v]) => [k, k === 'weightBytes' ? v * 1.1 : v * 1.5]),
        ),
    }),
    ...(fault === 'leniency' && { load: lenient(glassformer.load), create: lenient(glassformer.create) }),
    ...(fault === 'components' && {
      create: (c, o) =>
        glassformer.create(
          typeof c === 'string'
            ? c
            : { ...c, norm_placement: 'pre', use_residual: true, position: 'rope', ffn: 'gelu_erf', d_ff: 200 },
          o,
        ),
    }),
  };
}

// The first ones reach most claims: the others then have few left.
const FAULTS = [
  'values',
  'captures',
  'shapes',
  'context',
  'trace',
  'weights',
  'session',
  'sampler',
  'drift',
  'counts',
  'rows',
  'tables',
  'estimates',
  'edits',
  'generate',
  'memory',
  'source',
  'leniency',
  'components',
];

test('every claim fails under at least one fault of the library', async () => {
  let idle = all.flat().filter((c) => !c.slow);
  for (const fault of FAULTS) {
    const library = bend(fault),
      left = [];
    for (const claim of idle) if ((await runClaim(claim, library)).ok) left.push(claim);
    idle = left;
  }
  assert.deepEqual(
    idle.map((c) => c.id),
    [],
  );
});

// ---- the reference implementation agrees with PyTorch's values

test("the reference's erf agrees with a published table", () => {
  // from a table: Abramowitz and Stegun, 7.1
  for (const [x, y] of [
    [0, 0],
    [0.5, 0.5204998778],
    [1, 0.8427007929],
    [1.5, 0.9661051465],
    [2, 0.995322265],
    [2.4, 0.9993114861],
    [3, 0.9999779095],
  ]) {
    assert.ok(Math.abs(erf(x) - y) < 1e-9 && Math.abs(erf(-x) + y) < 1e-9, `erf(${x}) = ${erf(x)}`);
  }
});

/** Compare the reference with logits recorded from PyTorch. @param {string} name @param {string} root */
function agrees(name, root) {
  test(
    `the reference agrees with PyTorch: ${name}`,
    { skip: !existsSync(join(root, name)) && 'no shared reference data beside the project' },
    () => {
      const { folder, about, config, array } = openCase(name, root);
      const tensors = Object.fromEntries(
        Object.entries(readTensors(join(folder, 'model.safetensors'))).map(([k, t]) => [
          k.replace(/^transformer\./, ''),
          t,
        ]),
      );
      const logits = reference(tensors, config, about.input_ids, { source: about.src_ids });
      const off = distance(array('logits'), flat(logits));
      assert.ok(off < 5e-5, `off by ${off}`);
    },
  );
}
for (const name of ['t1_3layer_odd', 'gpt2_n_inner']) agrees(name, golden);
for (const name of ['t1_modern', 't1_untied', 't1_classic', 't2_encdec_causal', 't2_notebook_nomask'])
  agrees(name, shared ? join(shared, 'cases') : '/nowhere');
for (const name of ['t3_block', 't5_gpt', 'gpt2_prefix']) agrees(name, shared ? join(shared, 'cases') : '/nowhere');
