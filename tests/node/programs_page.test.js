// programs_page.test.js - programs that the page copies: what they print is the text of the page, and Python has the names
// of TransformerLens
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { asJavaScript, asPython } from '../../web/page/views/write/programs.js';
import { relaxedSimd } from '../node-flags.js';
import { temporaryFolder } from '../temporary.js';
import { change, dates, ids, made, weights, withStories, written } from './page_text.js';

const LIBRARY = new URL('../../web/lib/api/index.js', import.meta.url).href;
globalThis.document = /** @type {any} */ ({ baseURI: 'https://page.example/' });

/** What the copied program prints. */
async function printed(state) {
  const program = join(temporaryFolder('copied'), 'copied.mjs');
  const text = asJavaScript(state).replace("'glassformer'", JSON.stringify(LIBRARY));
  writeFileSync(program, text.replaceAll('https://page.example/weights/', weights));
  const { stdout } = await promisify(execFile)(process.execPath, [...relaxedSimd, program]);
  return stdout.trim().split('\n');
}
const textsOf = (state) => state.text.tokens.filter((t) => !t.given).map((t) => t.text);
/** The texts of steps that were printed. */
const stepsOf = (lines) => lines.map((line) => JSON.parse(/^(".*") after reading \d+$/.exec(line)[1]));
const withDates = async (source) => {
  const there = made({
    engine: { pace: 'fast', maxTokens: 10 },
    text: { prompt: '', source },
    sampler: { temperature: 0 },
  });
  await there.calls.loadModel(dates, { name: 'dates', address: 'weights/dates/' });
  change(there.state, { attention: { stack: 'cross', head: { layer: 1, head: 1 } } });
  await there.calls.write();
  return there;
};

test('a copied program prints the text of the page, that of a branch, and the text without the parts that are off', async () => {
  const { state, calls } = await withStories({
    engine: { pace: 'fast', maxTokens: 12 },
    attention: { off: ['0.ffn'] },
  });
  await calls.write();
  const [prompt, off] = [ids(state).slice(0, -12), [{ at: 'blocks.0.hook_mlp_out', scale: 0 }]];
  change(state, { attention: { off: ['0.ffn'] } });
  const lines = await printed(state);
  assert.deepEqual(stepsOf(lines.slice(0, 12)), textsOf(state));
  const without = (await calls.continuation(prompt, off, 32)).map(({ text }) => text);
  assert.deepEqual(
    lines.slice(12).map((line) => JSON.parse(line)),
    without,
  );
  // another token chosen: no seed gives this text, its ids do
  await calls.branch(prompt.length - 1, 300);
  const again = (await printed(state)).flatMap((line) => /^(\d+) reads \d+$/.exec(line)?.[1] ?? []);
  assert.deepEqual(again.map(Number), ids(state));
});

test('a program copied from two stacks, and one from a model built here, run as they are', async () => {
  const { state } = await withDates('3 JAN 2001');
  assert.equal(stepsOf(await printed(state)).join(''), '2001-01-03');
  const built = made({ engine: { pace: 'fast', maxTokens: 3 } });
  const two = { kind: 'encoder_decoder', nEncoderLayers: 1, vocabSize: 256, dModel: 8, nLayers: 1, nHeads: 2, dFf: 8, contextLength: 32 }; // prettier-ignore
  await built.calls.make(two, 1, { prompt: 'ab', source: 'one' });
  await built.calls.write();
  assert.match(asJavaScript(built.state), /await create\(\{/);
  assert.equal((await printed(built.state)).length, written(built.state).length);
});

/** The text of each constant of a Python program, which Python reads but does not run. */
const CONSTANTS = `
import ast, json, sys
program = ast.parse(sys.stdin.read())
print(json.dumps([node.value for node in ast.walk(program) if isinstance(node, ast.Constant) and isinstance(node.value, str)]))`;
const python = spawnSync('python3', ['-c', 'import ast']).status === 0;

test('a copied Python program has the names that TransformerLens has, for a model of the page and for two stacks', async () => {
  const constants = (program) => {
    if (!python) return null;
    const { status, stdout, stderr } = spawnSync('python3', ['-c', CONSTANTS], { input: program, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    return JSON.parse(stdout).filter((text) => text.includes('.'));
  };
  const { state } = await withStories();
  change(state, { attention: { head: { layer: 2, head: 1 }, off: ['1.3', '0.ffn', '2.n7'] } });
  const program = asPython(state);
  assert.match(program, /^from transformer_lens import HookedTransformer, HookedTransformerConfig$/m);
  assert.match(program, /n_layers=5,\n {4}n_heads=4,\n {4}d_model=128,\n {4}d_head=32,/);
  assert.match(
    program,
    new RegExp(`^tokens = torch\\.tensor\\(\\[\\[${ids(state)}\\]\\]\\)  # "${state.text.prompt}`, 'm'),
  );
  assert.match(program, /^pattern = cache\["blocks\.2\.attn\.hook_pattern"\]\[0, 1\]/m);
  assert.match(program, /\("blocks\.1\.attn\.hook_z", off\(3\)\), \("blocks\.0\.hook_mlp_out", off\(slice\(None\)\)\)/);
  const places = ['attn.hook_pattern', 'attn.hook_z', 'mlp.hook_post', 'hook_mlp_out'];
  for (const name of constants(program) ?? []) assert.ok(places.includes(name.replace(/^blocks\.\d\./, '')), name);
  const two = asPython((await withDates('20991231')).state);
  assert.deepEqual(constants(two) ?? ['decoder.1.cross_attn.hook_pattern'], ['decoder.1.cross_attn.hook_pattern']);
  assert.match(two, /run_with_cache\(source, tokens\)/);
});
