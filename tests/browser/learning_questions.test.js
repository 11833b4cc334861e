// learning_questions.test.js - questions of a newcomer: each is answered on the first screen or within two clicks of it
import assert from 'node:assert/strict';
import { samePage } from './built_page.js';
import { opened } from './expected.js';
import { openView } from './page_parts.js';
import { quiet } from './quiet.js';

const MODEL = 'weights/stories-1m-q4_0.gguf';
const PROMPT = 'Once upon a time, a little fox found a';
const model = await opened(MODEL);
const { dHead, dFf, dModel, nLayers } = model.config;
const ids = await model.encode(PROMPT);
const of = (part) => model.parameters.rows.filter(({ component }) => component === part);
const [inFfn, inAttention] = ['ffn', 'attention'].map((part) => of(part).reduce((sum, row) => sum + row.count, 0));
const third = (await model.logitLens(ids, { top: 1 }))[2].at(-1)[0];

const view = (id) => `[data-opens="${id}"]`;
/** A page of the textbook by its title. */
const chapter = (title) => `.contents button:text-is("${title}")`;
const within = (n) => new RegExp(n.toLocaleString('en'));

/** By question: what is clicked, what then has the answer, and the answer.
 * @type {Record<string, [clicks: string[], where: string, answer: RegExp]>} */
const QUESTIONS = {
  'What is a token?': [[view('learn'), chapter('Token')], '.textbook .idea', /pieces.*from a fixed list of 2,048/s],
  'What is d_head?': [[view('learn'), chapter('Heads')], '.textbook .idea', new RegExp(`d_head = ${dHead} numbers`)],
  'Why is there a root of d?': [
    [view('learn'), chapter('Scores')],
    '.textbook .idea',
    new RegExp(`Longer vectors give larger products.*√${dHead}`, 's'),
  ],
  'What does the kv cache hold?': [
    [view('learn'), chapter('The kv cache')],
    '.textbook .idea',
    /one more token costs one new row/,
  ],
  'How many parameters has the feed-forward network?': [[], '.sizes', within(inFfn)],
  'How many parameters are in attention?': [[], '.sizes', within(inAttention)],
  'Which parts matter most?': [[view('experiment')], '.ranked', /^\s*Without layer 1, FFN\s*\+\d/],
  'Does the cache change the text?': [[view('labs')], '.lab-claims', /100 of 100 tokens the same/],
  'What happens without the division by the root of d?': [
    [view('experiment')],
    '.side-by-side',
    /Original.*Broken\s+Once upon a time, a little fox found a/s,
  ],
  'What happens without head 3?': [
    [view('experiment'), '#ablate .switches button >> nth=2'],
    '#ablate',
    /Without layer 1, head 3.*bits per token.*Next token after the whole text/is,
  ],
  'What do temperature 0 and 1 do?': [
    [view('learn'), chapter('Temperature and top-k')],
    '.textbook .idea',
    /at 0 the most likely token always wins/,
  ],
  'What does this neuron do?': [
    [view('inside'), '.anatomy .stage[data-part="ffn"]'],
    '.neurons',
    /Strongest neurons.*\d+ −?\d\.\d+.*switch it off/is,
  ],
  'What would layer 3 predict?': [
    [view('inside')],
    '#lens',
    new RegExp(`layer 3.*${third.text.trim()}${(100 * third.probability).toFixed(1)} %.*layer 4`, 's'),
  ],
  'What is induction?': [
    [view('learn'), chapter('Induction')],
    '.textbook .idea',
    /earlier occurrence of the current token.*what followed it/s,
  ],
};

const pageTest = samePage({ hash: `#model=${MODEL}&t=0&prompt=${encodeURIComponent(PROMPT)}`, view: 'write' });
for (const [question, [clicks, where, answer]] of Object.entries(QUESTIONS))
  pageTest(question, async ({ page }) => {
    assert.ok(clicks.length <= 2 && nLayers > 3 && dFf > dModel);
    const textbook = page.locator('.textbook').getByRole('button', { name: 'Leave' });
    if (await textbook.isVisible()) await textbook.press('Enter');
    await openView(page, 'write');
    await page.evaluate(() => scrollTo(0, 0));
    await quiet(page);
    for (const click of clicks) {
      await page.locator(click).first().click();
      await quiet(page);
    }
    const place = page.locator(`.view:not([hidden]) ${where}, .textbook ${where.replace('.textbook ', '')}`).first();
    await place.scrollIntoViewIfNeeded();
    await place.filter({ hasText: answer }).waitFor();
  });
