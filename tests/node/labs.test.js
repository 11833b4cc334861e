// labs.test.js - each lab runs shortened: its reports have the form that web/lib/apps/labs/labs.js promises, and its numbers
// agree with other ways to compute them. docs/labs.md has the recorded results.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { countParameters, create, dictionary, load } from '../../web/lib/api/index.js';
import { additionOf } from '../../web/lib/apps/labs/grokking_task.js';
import { joinedClaims } from '../../web/lib/apps/labs/lab_seeds.js';
import { LABS, openLab, runLab } from '../../web/lib/apps/labs/labs.js';
import { randomIntegers } from '../../web/lib/apps/labs/measures.js';
import { sortingOf } from '../../web/lib/apps/labs/sorting_task.js';
import { written } from '../../web/lib/apps/labs/written_stories.js';
import { run as commandLine } from './command_line.js';
import { top, untilEnd } from './helpers.js';

/** @type {Map<string, import('../../web/lib/api/index.js').Model>} */
const models = new Map();
after(() => models.forEach((model) => model.dispose()));

/** @param {string | null} file */
async function modelOf(file) {
  if (file !== null && !models.has(file)) models.set(file, await load(join(top, 'weights', file)));
  return file === null ? undefined : models.get(file);
}

/**
 * A shortened run.
 * @param {string} name
 * @param {object} [options]
 */
async function shortRun(name, options) {
  const lab = await openLab(name);
  const model = options?.model ?? (await modelOf(lab.model));
  const run = runLab(name, { model, size: 'short', ...options });
  const figures = {},
    doing = [];
  for (let last = 0; ;) {
    const { done, value } = await run.next();
    if (done) return { model, figures, doing, result: value };
    assert.ok(value.progress >= last && value.progress <= 1, `${name}: ${value.progress} after ${last}`);
    last = value.progress;
    doing.push(value.doing);
    for (const figure of value.figures) figures[figure.id] = figure;
  }
}

/** The short runs with seed 1, of which each lab has one. @type {Map<string, ReturnType<typeof shortRun>>} */
const runs = new Map();
/** The short run of a lab that several tests look at. @param {string} name */
function sharedRun(name) {
  if (!runs.get(name)) runs.set(name, shortRun(name, { seed: 1 }));
  return runs.get(name);
}

const isText = (/** @type {any} */ value) => typeof value === 'string' && value.length > 0;
const areNumbers = (/** @type {any} */ list) => Array.isArray(list) && list.every(Number.isFinite);

/** @param {any} figure */
function checkFigure(figure) {
  assert.ok(isText(figure.id) && isText(figure.title), JSON.stringify(figure));
  if (figure.kind === 'curves') {
    for (const axis of [figure.x, figure.y]) assert.ok(isText(axis.name) && typeof axis.unit === 'string');
    for (const { name, x, y } of figure.curves)
      assert.ok(isText(name) && areNumbers(x) && areNumbers(y) && x.length === y.length, `${figure.id}: ${name}`);
  } else if (figure.kind === 'matrix') {
    const { rows, columns, values, range } = figure;
    assert.equal(values.length, rows.labels.length);
    for (const row of values) assert.ok(areNumbers(row) && row.length === columns.labels.length, figure.id);
    assert.ok(isText(rows.name) && isText(columns.name) && range[0] < range[1]);
  } else {
    assert.equal(figure.kind, 'texts');
    for (const { name, text } of figure.texts) assert.ok(isText(name) && isText(text));
  }
  assert.deepEqual(JSON.parse(JSON.stringify(figure)), figure, 'plain data');
}

for (const name of LABS)
  test(`the lab ${name} describes itself, reports figures and ends with claims`, async () => {
    const lab = await openLab(name);
    for (const key of ['title', 'claim', 'refutes']) assert.ok(isText(lab[key]), key);
    assert.equal(lab.name, name);
    assert.ok(lab.look.length && lab.look.every(isText));
    assert.ok(lab.references.length && lab.references.every(({ paper, where }) => isText(paper) && isText(where)));
    assert.ok(lab.change.values.includes(lab.change.default) && isText(lab.change.title));
    const { figures, result } = await sharedRun(name);
    assert.ok(Object.keys(figures).length > 0);
    for (const figure of Object.values(figures)) checkFigure(figure);
    assert.equal(result.claims.length, lab.claims.length);
    assert.deepEqual([result.lab, result.seed, result.seconds > 0], [name, 1, true]);
    for (const { claim, source, expected, measured, holds } of result.claims)
      assert.ok([claim, source, expected, measured].every(isText) && typeof holds === 'boolean', claim);
  });

test('an unknown lab, a missing model and a wrong change are refused; an abort ends a run with its reason', async () => {
  await assert.rejects(openLab('toString'), { code: 'not-found' });
  await assert.rejects(runLab('cache').next(), { code: 'bad-option', message: /model, loaded from stories-1m\.gguf/ });
  const model = await modelOf('stories-1m.gguf');
  await assert.rejects(runLab('cache', { model, change: 3 }).next(), { message: /expected one of 50, 100, 200/ });
  const controller = new AbortController();
  const run = runLab('cache', { model, size: 'short', signal: controller.signal });
  await run.next();
  controller.abort(new Error('enough'));
  await assert.rejects(run.next(), /enough/);
});

test('the command line prints the claims of a run as JSON, the same as the library', async () => {
  const { out, code } = await commandLine('lab', 'cache', '--short', '--json', '-q', '--seed', '1');
  assert.equal(code, 0);
  const { result } = await sharedRun('cache');
  const printed = JSON.parse(out);
  assert.deepEqual(Object.keys(printed), Object.keys(result));
  // the time differs from run to run
  const [, time] = result.claims;
  const untimed = ({ claims }) => claims.filter(({ claim }) => claim !== time.claim);
  assert.deepEqual(untimed(printed), untimed(result));
  assert.match((await commandLine('lab')).out, /^cache /m);
  assert.match((await commandLine('lab', 'nothing')).err, /there is no lab "nothing"/);
});

test('several seeds give means with intervals, and where they differ no verdict', async () => {
  const run = (options) => shortRun('cache', { seed: 3, ...options });
  const [both, first, second] = [await run({ seeds: 2 }), await run({ seed: 3 }), await run({ seed: 4 })];
  assert.deepEqual(both.result.seeds, [3, 4]);
  const singles = [first, second].map(({ result }) => result.claims[2]);
  assert.deepEqual(
    both.result.claims[2].runs,
    singles.map(({ measured, holds }, i) => ({ seed: 3 + i, measured, holds })),
  );
  assert.match(both.doing.at(-1), /^seed 4: /);
  assert.equal(both.result.provenance.weights.length, 64);
  const runs = ['head 4.1: 1.0 of 20', 'head 4.1: 2.0 of 20', 'head 4.1: 4.0 of 20'].map((measured, i) => [
    { claim: 'a', source: 'b', expected: 'c', measured, holds: i > 0 },
    { claim: 'd', source: 'e', expected: 'f', measured: `head ${i}.0`, holds: true },
  ]);
  const [mixed, names] = joinedClaims([1, 2, 3], runs);
  // 7/3, and 4.303 times the standard error, sqrt((16 + 1 + 25) / 9 / 2 / 3)
  assert.deepEqual([mixed.measured, mixed.holds], ['head 4.1: 2.3 ± 3.8 of 20', null]);
  assert.deepEqual([names.measured, names.holds], ['head 0.0 / head 1.0 / head 2.0', true]);
  await assert.rejects(runLab('cache', { model: first.model, seeds: 0 }).next(), { message: /seeds is 0/ });
});

test('fill: a blank is right where the largest logit is that of its token, and its last rank is then 1', async () => {
  const { model, figures, result } = await sharedRun('fill');
  const [mask] = await model.encode('[MASK]', { addSpecialTokens: false });
  const ids = await model.encode('One day, a little girl named Mia went to the park with her m');
  let right = 0;
  for (let at = 1; at < ids.length; at++) {
    const { data } = (await model.forward(ids.with(at, mask), { logits: [at] })).logits;
    right += Number(data.every((x) => x <= data[ids[at]]));
  }
  const n = ids.length - 1;
  assert.equal(result.claims[0].measured.split(',')[0], `${Math.round((100 * right) / n)} % of ${n}`);
  const [{ y }] = figures.ranks.curves;
  assert.equal(y.length, model.config.nLayers);
  assert.ok(y.at(-1) < y[0] && y.at(-1) >= 1);
});

test('docs/labs.md has the results that are recorded beside the labs', () => {
  const text = readFileSync(join(top, 'docs/labs.md'), 'utf8');
  for (const name of LABS) {
    const { lab, claims } = JSON.parse(readFileSync(join(top, `web/lib/apps/labs/results/${name}.json`), 'utf8'));
    assert.equal(lab, name);
    for (const { claim, measured, holds } of claims) {
      const verdict = holds === null ? 'inconclusive' : holds ? 'holds' : 'does not hold';
      const row = `| \`${name}\` | ${claim} | ${measured} | ${verdict} |`;
      assert.ok(text.includes(row), `the table lacks\n${row}`);
    }
  }
});

/**
 * Rotates adjacent pairs of queries or keys of the positions from `from` on by the angle of `by(position)` positions.
 * @param {number} from
 * @param {(position: number) => number} by
 */
const rotated =
  (from, by) =>
  (/** @type {import('../../web/lib/api/index.js').Tensor} */ { data, shape: [n, heads, d] }) => {
    const out = data.slice();
    for (let t = from; t < n; t++)
      for (let h = 0; h < heads; h++)
        for (let i = 0; i < d; i += 2) {
          const [at, angle] = [(t * heads + h) * d + i, by(t) / 10000 ** (i / d)];
          out[at] = data[at] * Math.cos(angle) - data[at + 1] * Math.sin(angle);
          out[at + 1] = data[at] * Math.sin(angle) + data[at + 1] * Math.cos(angle);
        }
    return out;
  };

// The verdict was of a wall clock: on a slow machine the claim did not hold.
test('cache: the verdict counts positions, and holds however long a pass takes', async () => {
  const { claims } = (await sharedRun('cache')).result;
  const first = Number(/^(\d+) positions/.exec(claims[1].measured)[1]);
  const prompt = (await models.get('stories-1m.gguf').encode('Once upon a time')).length;
  assert.equal(
    first,
    Array.from({ length: 20 }, (_, i) => prompt + i).reduce((sum, n) => sum + n),
  );
  assert.deepEqual([claims[1].measured.endsWith(', 20 with it'), claims[1].holds], [true, true]);
});

test('cache: the loss with a forgotten offset is that of queries and keys that are rotated back to position 0', async () => {
  const { model, figures, result } = await sharedRun('cache');
  const ids = await model.encode(figures.texts.texts[0].text);
  const first = ids.length - 20;
  const lossOf = async (/** @type {(position: number) => number} */ by) => {
    const apply = rotated(first, by);
    const edits = ['q', 'k'].map((each) => ({ at: `*.hook_rot_${each}`, apply }));
    const { perToken } = await model.loss(ids, { perToken: true, edits });
    return perToken.data.slice(first).reduce((sum, x) => sum + x, 0) / 19;
  };
  const { measured } = result.claims[2];
  const [right, forgotten] = [await lossOf(() => 0), await lossOf((position) => -position)];
  assert.ok(measured.endsWith(`loss ${forgotten.toFixed(2)} instead of ${right.toFixed(2)}`), measured);
});

test('ioi: the difference of logits is that of plain passes over the sentences that the run names', async () => {
  const { model, doing, result } = await sharedRun('ioi');
  assert.equal(doing.length, 4);
  const apart = [];
  for (const text of doing) {
    const [, a, b] = /(\w+) and (\w+) (?:went|were)/.exec(text);
    const [giver] = [a, b].filter((name) => text.includes(`. ${name} `));
    const ids = await Promise.all([a, b].map((name) => model.encode(` ${name}`, { addSpecialTokens: false })));
    assert.ok(giver && ids.every((list) => list.length === 1), text);
    const { data } = (await model.forward(text, { logits: 'last' })).logits;
    apart.push((data[ids[0][0]] - data[ids[1][0]]) * (giver === a ? -1 : 1));
  }
  const mean = apart.reduce((sum, x) => sum + x, 0) / apart.length;
  const right = apart.filter((x) => x > 0).length;
  assert.equal(result.claims[0].measured, `${mean.toFixed(2)} logits apart, in ${right} of 4`);
});

test('sinks: the loss in a window is that of the same weights with a sliding window', async () => {
  const config = { vocab_size: 200, d_model: 32, n_layers: 2, n_heads: 4, context_length: 64 };
  const [model, windowed] = await Promise.all(
    [0, 16].map((sliding_window) => create({ ...config, sliding_window }, { seed: 4 })),
  );
  const { result } = await shortRun('sinks', { model, seed: 6 });
  const options = { maxTokens: 63, minTokens: 63, temperature: 1, topP: 1, seed: 6 };
  const ids = [0, ...(await model.generate([0], options).result).ids];
  const [window, all] = await Promise.all(
    [windowed, model].map(async (each) => {
      const { perToken } = await each.loss(ids, { perToken: true });
      return (perToken.data.slice(15).reduce((sum, x) => sum + x, 0) / 48).toFixed(2);
    }),
  );
  assert.equal(result.claims[1].measured, `${window} nats, ${all} with all tokens`);
  model.dispose();
  windowed.dispose();
});

test('induction: the losses are the recorded ones, bit for bit, and the model that was trained loads', async () => {
  const { figures, result } = await sharedRun('induction');
  const losses = figures.loss.curves.map(({ x, y }) => [x, y]);
  assert.deepEqual(losses, [
    [
      [10, 20],
      [4.16785510726597, 4.148081381683764],
    ],
    [
      [10, 20],
      [4.17916202933892, 4.161562990883122],
    ],
  ]);
  const [config, weights] = result.trained.map(({ bytes }) => bytes);
  const model = await untilEnd(load({ weights, config: JSON.parse(new TextDecoder().decode(config)) }));
  assert.deepEqual([model.config.ffn, model.config.nLayers], ['none', 2]);
});

test('induction: the shipped model continues random numbers as they went on before', async () => {
  const model = await modelOf('induction/');
  const copy = Array.from({ length: 12 }, (_, i) => 1 + ((29 * i + 17) % 63)); // all different
  const { ids } = await model.complete([0, ...copy, ...copy.slice(0, 2)], { temperature: 0, maxTokens: 10 });
  assert.deepEqual(Array.from(ids), copy.slice(2));
});

test('grokking: the energies are those of numpy, unseen pairs are answered, and the first losses the recorded ones', async () => {
  const { model, figures, result } = await sharedRun('grokking');
  // numpy.fft.rfft of the embedding of the numbers, without its mean
  const [{ x, y }] = figures.spectrum.curves;
  const strongest = x.map((k, i) => [k, y[i]]).sort((a, b) => b[1] - a[1]);
  assert.deepEqual(
    strongest.slice(0, 6).map(([k, share]) => [k, Number(share.toFixed(3))]),
    [
      [25, 0.346],
      [17, 0.251],
      [31, 0.248],
      [51, 0.019],
      [34, 0.016],
      [38, 0.015],
    ],
  );
  const { held } = additionOf(113);
  const few = held.filter((_, i) => i % 97 === 0);
  const answers = (
    await model.forward(
      few.map(({ ids }) => ids),
      { logits: 'last' },
    )
  ).logits;
  const right = few.filter(({ targets }, i) => {
    const row = answers.data.subarray(i * 114, (i + 1) * 114);
    return row.indexOf(Math.max(...row)) === targets[2];
  });
  assert.ok(right.length >= 0.98 * few.length, `${right.length} of ${few.length}`);
  assert.deepEqual(
    figures.loss.curves.map((curve) => curve.y),
    [
      [3.129820341471384, 2.065823211331339],
      [4.19206718393353, 3.804903568536832],
    ],
  );
  // numpy in float64: the logits of the 12,769 pairs by the shipped weights, the cosines by least squares
  assert.deepEqual(
    result.claims.slice(0, 4).map((claim) => claim.measured),
    [
      '99.94 % of them',
      '89 % in the frequencies 25, 17, 31, 51, 34, 38',
      '92 % of the variance',
      'loss 0.0126 with these only, 6.05 without them, 0.0091 with all',
    ],
  );
});

test('sorting: shares are those of numpy on the weights, the first losses the recorded ones', async () => {
  const { figures, result } = await sharedRun('sorting');
  // the same 20 lists through a forward pass in float64, written with numpy
  assert.deepEqual(
    result.claims.slice(0, 2).map(({ measured }) => measured),
    ['99.50 % of the numbers, 95.0 % of the lists', 'for 78.5 %, of at least one head for 91.0 %'],
  );
  assert.equal(result.claims[2].holds, true, 'the permutation as pattern');
  for (const row of figures.attention.values) assert.ok(row.reduce((sum, x) => sum + x, 0) <= 1.001);
  assert.deepEqual(
    figures.loss.curves.map((curve) => curve.y),
    [
      [3.0687931777909396, 2.8116178728640078],
      [3.000629358291626, 2.827245836019516],
    ],
  );
});

test('length: the shares are those of PyTorch on the trained weights, the losses the recorded ones', async () => {
  const { figures } = await sharedRun('length');
  assert.deepEqual(
    figures.loss.curves.map(({ y }) => y),
    [[3.1957397059591597], [3.309629085785401], [3.864853225394576], [3.1957056780377466], [3.2090923977280426]],
  );
  // the same lists through a forward pass in float64, written with PyTorch, on the files of the run: right of all
  const right = [6, 8, 8, 8, 12, 7, 11, 15, 14, 15, 12, 11, 17, 11, 18];
  assert.deepEqual(
    figures.accuracy.curves[0].y,
    right.map((n, i) => n / (5 * (i + 2))),
  );
});

test('norm: the gradients are those of PyTorch on the first weights, the losses the recorded ones', async () => {
  const { figures } = await sharedRun('norm');
  // loss.backward() in float64 on the files of the untrained models and the list of this seed
  const expected = [
    [
      0.0335074, 0.017697, 0.0119568, 0.00987834, 0.00956314, 0.00749197, 0.00712064, 0.00719137, 0.0068817, 0.00653034,
      0.00636816, 0.0052113,
    ],
    [
      0.0733345, 0.0454042, 0.0572763, 0.0523506, 0.0367748, 0.0334093, 0.03291, 0.0402896, 0.0310481, 0.0252871,
      0.0232777, 0.021356,
    ],
  ];
  figures.gradients.curves.forEach(({ y }, i) =>
    y.forEach((value, layer) => assert.ok(Math.abs(value / expected[i][layer] - 1) < 1e-4, `${i}, layer ${layer}`)),
  );
  assert.deepEqual(
    figures.loss.curves.map(({ y }) => y),
    [[3.9608953971862793], [3.968591566324234], [4.0615315573215485], [4.069689068078994]],
  );
});

test('postnorm: the loss at the end is that of the trained model on the held-out lists, the others the recorded ones', async () => {
  const { figures, result } = await sharedRun('postnorm');
  const [config, weights] = result.trained.map(({ bytes }) => bytes);
  const model = await untilEnd(load({ weights, config: JSON.parse(new TextDecoder().decode(config)) }));
  assert.deepEqual([model.config.nLayers, model.config.normPlacement], [3, 'post']);
  const random = randomIntegers(1);
  const held = Array.from({ length: 100 }, () => sortingOf(random, 6));
  let nats = 0;
  for (const { ids, targets } of held) {
    const { data, shape } = (await model.forward(ids)).logits;
    targets.forEach((target, i) => {
      const row = data.subarray(i * shape[1], (i + 1) * shape[1]);
      if (target >= 0) nats += Math.log(row.reduce((sum, x) => sum + Math.exp(x), 0)) - row[target];
    });
  }
  const losses = [3, 6, 12].map((layers) => figures[`loss-${layers} layers`].curves.map(({ y }) => y));
  assert.ok(Math.abs(nats / 600 - losses[0][0][0]) < 1e-5, `${nats / 600}, the lab says ${losses[0][0]}`);
  assert.deepEqual(losses, [
    [[3.7525933543841044], [3.7283235510190327], [3.532179276148478]],
    [
      [3.9728233067194623],
      [3.967572189569473],
      [3.6614522349834444],
      [3.9696854082743327],
      [3.9867879180113475],
      [3.9728233067194623],
      [3.691669677098592],
    ],
    [[3.9694643048445384], [3.9732740525404613], [3.8850252636273703]],
  ]);
  figures.depth.curves.forEach(({ y }, way) =>
    assert.deepEqual(
      y,
      losses.map((list) => list[way][0]),
    ),
  );
});

test('alignment: what heads find and what is written is that of numpy on the weights', async () => {
  const { figures, result } = await sharedRun('alignment');
  // the same ten dates through both stacks in float64, written with numpy
  assert.deepEqual(
    figures.accuracy.values.map((row) => row.map((share) => Number(share.toFixed(3)))),
    [
      [0.05, 0.75, 0.2],
      [0.75, 0.6, 1],
      [0.5, 1, 0.4],
      [0.25, 0.75, 0.6],
      [0.65, 0.7, 0.5],
      [0.75, 0.95, 0.95],
      [1, 0.75, 1],
      [0.75, 0.75, 0.55],
    ],
  );
  const { measured } = result.claims[3];
  assert.equal(measured, "15 % of the year's digits right, otherwise 100 %");
});

test('width: SwiGLU has as many weights as GELU, and the first losses are the recorded ones', async () => {
  const { figures } = await sharedRun('width');
  // the losses of a run on a text are compared with those of its model in the tests of train
  assert.deepEqual(
    figures.loss.curves.map(({ y }) => y),
    [[4.711246586113833], [4.716386963544267], [4.69330318081245], [4.725939825143707], [4.689829606956311]],
  );
  const sizes = { d_model: 48, n_layers: 2, n_heads: 4, vocab_size: 320, context_length: 64 };
  const [gelu, swiglu] = [
    { ffn: 'gelu_erf', d_ff: 4 * 48 },
    { ffn: 'swiglu', d_ff: (8 / 3) * 48 },
  ].map((ffn) => countParameters({ ...sizes, ...ffn }).total);
  assert.equal(swiglu, gelu);
});

test('rmsnorm and gelu: the models that width trains too have its losses, the others the recorded ones', async () => {
  const [width, norms, activations] = await Promise.all(['width', 'rmsnorm', 'gelu'].map(sharedRun));
  const losses = ({ figures }) => figures.loss.curves.map(({ y }) => y);
  const [, gelu, , swiglu] = losses(width);
  assert.deepEqual(losses(norms), [[4.7118602056181835], swiglu, [5.73874265370744], [4.698725449101309]]);
  assert.deepEqual(losses(activations), [gelu, [4.6284223827083455], [4.73480993308378], [4.685001645999009]]);
});

test('rmsnorm: the share of the mean is what the divisors of LayerNorm lack of the mean squares', async () => {
  const { model, result } = await sharedRun('rmsnorm');
  const writing = written(model, 24, 1);
  let text;
  for (let step = await writing.next(); (text = step.value), !step.done;) step = await writing.next();
  const [config, weights, tokenizer] = result.trained.map(({ bytes }) => bytes);
  const json = (/** @type {Uint8Array} */ bytes) => JSON.parse(new TextDecoder().decode(bytes));
  const trained = await untilEnd(load({ weights, config: json(config), tokenizer: json(tokenizer) }));
  const ids = (await trained.encode(text.slice(-2000))).slice(0, 64);
  // the divisor is the root of the variance and epsilon
  const pairs = [
    ['blocks.0.hook_resid_mid', 'blocks.0.ln2.hook_scale'],
    ['blocks.0.hook_resid_post', 'blocks.1.ln1.hook_scale'],
    ['blocks.1.hook_resid_mid', 'blocks.1.ln2.hook_scale'],
    ['blocks.1.hook_resid_post', 'ln_final.hook_scale'],
  ];
  const { captured } = await trained.forward(ids, { capture: pairs.flat(), logits: 'none' });
  const shares = pairs.flatMap(([stream, scale]) =>
    Array.from(captured[scale].data, (divisor, i) => {
      const row = captured[stream].data.subarray(48 * i, 48 * (i + 1));
      const square = row.reduce((sum, x) => sum + x * x, 0) / 48;
      return 1 - (divisor ** 2 - trained.config.normEps) / square;
    }),
  );
  const share = (100 * shares.reduce((sum, x) => sum + x, 0)) / shares.length;
  const told = Number(/^[\d.]+/.exec(result.claims[1].measured)[0]);
  assert.ok(Math.abs(share - told) < 0.06, `${share} %, the lab says ${told} %`);
});

test('features: the shares that are left are those of the report of the same training', async () => {
  const { model, figures, result } = await sharedRun('features');
  const writing = written(model, 12, 1);
  let text;
  for (let step = await writing.next(); (text = step.value), !step.done;) step = await writing.next();
  const options = { size: 64, k: 16, tokens: 700, heldOut: 150, epochs: 1, seed: 1 };
  const made = await dictionary(model, text.split('\n\n'), { at: 'blocks.2.hook_resid_post', ...options }).dictionary();
  const { dictionary: own, random, neurons } = await made.report();
  const [left, chance, components] = [own, random, neurons].map(({ fvu }) => fvu.toFixed(3));
  assert.deepEqual(
    result.claims.slice(0, 2).map(({ measured }) => measured),
    [
      `${left} of the variance is left, by random directions ${chance}`,
      `${left} of the variance is left, by components ${components}`,
    ],
  );
  assert.equal(figures.unexplained.curves.length, 3);
});
