// anatomy.test.js - the picture of a forward pass: its layout for every architecture and width, and what it shows of a
// text
import assert from 'node:assert/strict';
import { area, curveBumpX, curveBumpY } from 'd3-shape';
import { test } from 'node:test';
import { camelConfig, completeConfig } from '../../web/lib/engine/config/config.js';
import { PRESETS, countParameters } from '../../web/lib/api/index.js';
import { ribbonAcross, ribbonDown } from '../../web/draw/anatomy_geometry.js';
import { lanesFor, tallPicture } from '../../web/draw/anatomy_tall.js';
import { LANES, widePicture } from '../../web/draw/anatomy_wide.js';
import { relativeStrengths, strengths } from '../../web/draw/strip_painter.js';
import { PatternStore } from '../../web/draw/pattern_store.js';
import { frameOf } from '../../web/page/views/inside/anatomy/shown_lanes.js';
import { partsOf, stagesOf } from '../../web/page/views/inside/anatomy/stages.js';

const small = { vocab_size: 96, d_model: 32, n_layers: 3, n_heads: 4 };
const architectures = {
  ...PRESETS,
  'post-norm encoder-decoder': {
    ...small,
    kind: 'encoder_decoder',
    n_encoder_layers: 2,
    norm: 'layernorm',
    norm_placement: 'post',
    final_norm: false,
  },
  'pre-norm encoder-decoder': { ...small, kind: 'encoder_decoder', n_encoder_layers: 1 },
  T5: {
    ...small,
    kind: 'encoder_decoder',
    n_encoder_layers: 2,
    position: 'none',
    relative_buckets: 32,
    scale_scores: false,
    ffn: 'geglu_tanh',
  },
  BART: {
    ...small,
    kind: 'encoder_decoder',
    norm: 'layernorm',
    norm_placement: 'post',
    position: 'learned',
    position_offset: 2,
    embed_norm: true,
    ffn: 'gelu_erf',
    bias_head: true,
  },
  encoder: { ...small, kind: 'encoder', position: 'learned' },
  'one block, one head': { ...small, n_layers: 1, n_heads: 1 },
  'sandwich norms': { ...small, norm_placement: 'sandwich' },
  'norms of outputs': { ...small, norm_placement: 'output' },
  'parallel, two norms': { ...small, parallel_residual: true },
  'parallel, one norm': { ...small, parallel_residual: true, shared_norm: true },
};

/** Stages of each architecture, with its first, a middle and its last layer open. */
function* partsOfEach() {
  for (const [name, given] of Object.entries(architectures)) {
    const config = camelConfig(completeConfig(given));
    const { rows } = countParameters(given);
    for (const layer of new Set([0, config.nLayers >> 1, config.nLayers - 1])) {
      const stages = stagesOf(config, rows, layer, 7, 5);
      yield { name: `${name}, layer ${layer}`, parts: partsOf(config, stages) };
    }
  }
}
const ROOM = { letters: 12, words: 12 };
const numbersIn = (path) => path.match(/-?[\d.]+/g)?.map(Number) ?? [];

test('every stage has one caption and every number of the layout is finite, in both pictures', () => {
  for (const { name, parts } of partsOfEach()) {
    for (const picture of [widePicture(parts, 1400), tallPicture(parts, 334)]) {
      const where = `${name}, ${picture.tall ? 'tall' : 'wide'}`;
      assert.deepEqual(picture.captions.map((c) => c.id).sort(), [...parts.stages].sort(), where);
      assert.equal(picture.bars.length, parts.stages.includes('head') ? 10 : 0, where);
      assert.equal(!!picture.cross, parts.stages.includes('cross'), where);
      for (const lane of picture.lanes) {
        const paths = [lane.stream, lane.q, lane.k, lane.v, lane.through, lane.pluses, lane.asks ?? 'M0'];
        for (const d of [...paths, ...lane.flow.map((f) => f.d)]) {
          assert.ok(!/NaN|undefined/.test(d) && numbersIn(d).length, `${where}: ${d}`);
        }
        for (const { x, y, width, height } of [...Object.values(lane.strips), ...lane.norms])
          assert.ok(x >= 0 && y >= 0 && x + width <= picture.width && y + height <= picture.height, where);
      }
    }
  }
});

test('the tall picture fits every width of a phone, one stage below the other', () => {
  assert.equal(lanesFor(334), 5); // a phone of 390 px
  for (const { name, parts } of partsOfEach())
    for (const width of [280, 334, 402, 560, 830]) {
      const { captions, lanes, card, height } = tallPicture(parts, width);
      assert.equal(lanes.length, lanesFor(width));
      const tops = captions.map((c) => c.back.y);
      assert.ok(
        tops.every((y, i) => !i || y >= tops[i - 1] + captions[i - 1].back.height),
        `${name}, ${width} px: captions at ${tops}`,
      );
      assert.ok(captions.every((c) => c.back.height >= 23 && c.back.y + c.back.height <= height));
      const last = card.dots.x + (lanes.length - 1) * card.step + card.radius;
      const front = card.stack[card.stack.length - 1];
      assert.ok(
        card.dots.x - card.step - card.radius >= front.x && last <= front.x + front.width,
        `${name}, ${width} px`,
      );
    }
});

/** Both pictures of an architecture with its first layer open. @param {string} name */
function picturesOf(name) {
  const { parts } = [...partsOfEach()].find((each) => each.name.startsWith(`${name}, layer`));
  return [widePicture(parts, 1400), tallPicture(parts, 334)];
}
/** Places of strips and norms along the lanes. @param {any} picture */
function along({ tall, lanes: [lane] }) {
  const at = (rect) => (tall ? rect.y : rect.x);
  const strips = Object.fromEntries(Object.entries(lane.strips).map(([name, rect]) => [name, at(rect)]));
  return { ...strips, norms: lane.norms.map(at).sort((a, b) => a - b) };
}
/** How often the block adds to the stream. @param {any} picture */
const sums = ({ lanes: [lane] }) => lane.pluses.split('M').length - 1;

test('norms stand where they act: before what reads them, on the sum, or on the output before it is added', () => {
  for (const picture of picturesOf('sandwich norms')) {
    const { q, out, ffn, resid, norms } = along(picture);
    assert.equal(norms.length, 5); // the last is the final norm
    assert.ok(norms[0] < q && norms[1] > q && norms[1] < out, `${norms}, out ${out}`);
    assert.ok(norms[2] > out && norms[2] < ffn && norms[3] > ffn && norms[3] < resid, `${norms}, ffn ${ffn}`);
    assert.equal(sums(picture), 2);
  }
  for (const picture of picturesOf('norms of outputs')) {
    const { q, out, ffn, resid, norms } = along(picture);
    assert.equal(norms.length, 3);
    assert.ok(norms[0] > q && norms[0] < out && norms[1] > ffn && norms[1] < resid, `${norms}`);
  }
});

test('a parallel block adds both outputs at its end, and no ribbon leads from the heads to the FFN', () => {
  for (const name of ['parallel, two norms', 'parallel, one norm'])
    for (const picture of picturesOf(name)) {
      const [lane] = picture.lanes;
      assert.equal(sums(picture), 1, name);
      assert.equal(along(picture).norms.length, 3, name); // a shared norm stands before both
      const { out, resid } = lane.strips;
      const from = (d) => numbersIn(d).slice(0, 2);
      const leaving = lane.flow.filter(({ d }) => {
        const [x, y] = from(d);
        return picture.tall ? y === out.y + out.height && x > out.x && x < out.x + out.width : x === out.x + out.width;
      });
      assert.deepEqual(
        leaving.map(({ hue }) => hue),
        ['ink'],
        name,
      );
      const past = lane.flow.filter(
        ({ hue, d }) => hue === 'ink' && numbersIn(d).includes(picture.tall ? resid.y : resid.x),
      );
      assert.equal(past.length >= 1, true, name);
    }
  for (const picture of picturesOf('one block, one head')) assert.equal(sums(picture), 2);
});

test('an encoder-decoder is described by its configuration, and each of its weights is in one stage', () => {
  const described = (name) => {
    const given = architectures[name];
    const table = countParameters(given);
    const stages = stagesOf(camelConfig(completeConfig(given)), table.rows, 1, 7, 5);
    assert.equal(
      stages.reduce((sum, stage) => sum + stage.params, 0),
      table.total,
      name,
    );
    return new Map(stages.map((stage) => [stage.id, stage]));
  };
  const t5 = described('T5');
  assert.equal(t5.get('heads')?.params, 32 * 4);
  assert.match(t5.get('heads')?.formula ?? '', /^A = softmax\(q kᵀ \+ b\[distance\] \+ mask\)/);
  assert.match(t5.get('heads')?.words ?? '', /one of 32 that all layers share/);
  assert.match(t5.get('cross')?.formula ?? '', /softmax\(q kᵀ\)/);
  assert.match(t5.get('embed')?.words ?? '', /a learned bias of the scores for each distance/);
  assert.deepEqual([t5.get('norm1')?.title, t5.get('ffn')?.title], ['RMSNorm', 'GEGLU-tanh']);
  const bart = described('BART');
  assert.match(bart.get('embed')?.formula ?? '', /norm\(E\[token\] \+ P\[position \+ 2\]\)/);
  assert.match(bart.get('embed')?.words ?? '', /a learned row for the position is added/);
  assert.deepEqual([bart.get('norm1')?.title, bart.has('final')], ['LayerNorm', false]);
});

test('before the first block is the embedding, before a later one are the stream and the blocks before it', () => {
  const config = camelConfig(completeConfig({ ...small, n_layers: 6 }));
  const { rows } = countParameters({ ...small, n_layers: 6 });
  const titles = (layer) => Object.fromEntries(stagesOf(config, rows, layer, 7, 0).map((s) => [s.id, s.title]));
  assert.equal(titles(0).before, undefined);
  assert.equal(titles(0).more, '5 blocks after');
  assert.equal(titles(4).before, 'Stream into block 5');
  assert.equal(titles(4).more, '1 block after');
  assert.equal(titles(5).more, undefined);
});

/** A text of so many tokens, whose queries give these weights in layer 0, head 0. */
function textOf(n, weight) {
  const patterns = new PatternStore(1, 1);
  const data = Float32Array.from({ length: n * n }, (_, i) => {
    const [q, k] = [Math.floor(i / n), i % n];
    return k > q ? 0 : weight(q, k);
  });
  patterns.append({ 'blocks.0.attn.hook_pattern': { data, shape: [1, n, n] } });
  return {
    engine: { model: { config: { nLayers: 1, nHeads: 1, causal: true, kind: 'decoder' } } },
    attention: { patterns, otherPatterns: null, head: { layer: 0, head: 0 }, stack: 'self', hover: null, key: null },
    text: {
      tokens: Array.from({ length: n }, (_, id) => ({ id, text: ` t${id}`, top: null })),
      sourceTokens: [],
      cursor: n - 1,
      logits: new Map(),
      words: new Map(),
    },
    sampler: { temperature: 0, topK: 1, topP: 1, seed: 1 },
  };
}

test('lanes show the last tokens, and the weights of the selected token fill its lane', () => {
  const text = textOf(14, (q) => 1 / (q + 1));
  const frame = frameOf(text, LANES, ROOM);
  assert.equal(frame.first, 5);
  assert.deepEqual(
    frame.lanes.map((lane) => lane.text),
    Array.from({ length: 9 }, (_, i) => `t${5 + i}`),
  );
  assert.equal(frame.here, 8);
  assert.ok(frame.early.every((opacity) => opacity > 0.06));
  assert.deepEqual(
    frame.dots.map((row) => row.length),
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
  // from the sum of the five earlier keys to the end of the lane
  const places = frame.lanes.map((lane) => lane.mix.at);
  assert.ok(
    Math.abs(places[0] - (-8 + 16 * (5.5 / 14))) < 1e-6 && Math.abs(places[8] - (-8 + 16 * (13.5 / 14))) < 1e-6,
  );
  text.text.cursor = 2;
  assert.equal(frameOf(text, LANES, ROOM).first, 0);
  assert.equal(frameOf(text, LANES, ROOM).lanes.length, 9);
});

test('the bars are the model’s probabilities, whatever the sampler makes of them', () => {
  const text = textOf(3, (q) => 1 / (q + 1));
  text.text.logits.set(2, Float32Array.from([0, Math.log(2), Math.log(5), -Infinity]));
  const bars = frameOf(text, LANES, ROOM).bars;
  assert.deepEqual(
    bars.map((bar) => [bar.id, bar.percent]),
    [
      [2, '62.5 %'],
      [1, '25.0 %'],
      [0, '12.5 %'],
      [3, '0.0 %'],
    ],
  );
});

test('a strip shows the strength of each part of a vector', () => {
  assert.deepEqual(strengths([3, 4, 0, 0, 1, -1], 3), [Math.sqrt(12.5), 0, 1]);
  const rows = relativeStrengths({ data: Float32Array.from([0, 1, 2, 4]), shape: [2, 2] }, 0, 3, 2);
  assert.deepEqual(rows, [[0, 0.25], [0.5, 1], []]);
});

test('a ribbon is the area between two ends that d3-shape draws', () => {
  const [from, to] = [[10, 20, 4], [110, 60.37, 8]]; // prettier-ignore
  const across = area()
    .x((p) => p[0])
    .y0((p) => p[1] - p[2] / 2)
    .y1((p) => p[1] + p[2] / 2)
    .curve(curveBumpX)
    .digits(1);
  assert.equal(ribbonAcross(from, to), across([from, to]));
  const down = area()
    .y((p) => p[1])
    .x0((p) => p[0] - p[2] / 2)
    .x1((p) => p[0] + p[2] / 2)
    .curve(curveBumpY)
    .digits(1);
  assert.equal(ribbonDown(from, to), down([from, to]));
});
