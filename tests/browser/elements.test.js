// elements.test.js - the examples of glassformer/elements in Chromium, Firefox and WebKit, and in a page opened from disk
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, before, test } from 'node:test';
import { build } from 'esbuild';
import { load } from '../../web/lib/api/index.js';
import { serve } from '../../scripts/serve.js';
import { temporaryFolder } from '../temporary.js';
import { until } from './drivers/browsers.js';
import { inEachEngine } from './drivers/each_engine.js';
import { top } from './engines/fixture.js';

const examples = `${top}docs/examples/`;
const names = readdirSync(examples).filter((name) => name.startsWith('glass-'));
const CDN = 'https://cdn.jsdelivr.net/npm/glassformer@0.1.0/';
const folder = temporaryFolder('elements');

/** Data of two heads over two tokens, as an attribute. */
const HEADS = JSON.stringify({ tokens: ['a', 'b'], pattern: [0.25, 0.75].map((x) => [[1], [x, 1 - x]]) });
/** An application with React that gives data as a property. */
const REACT = `
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import ${JSON.stringify(`${top}dist/elements.js`)};
const data = { tokens: ['a', 'b'], pattern: [[1], [0.4, 0.6]] };
const ref = (element) => element?.addEventListener('choose', ({ detail }) => (document.title = JSON.stringify(detail)));
createRoot(document.querySelector('main')).render(createElement('glass-attention', { data, ref }));
`;
/** @type {Awaited<ReturnType<typeof serve>>} */
let server;

before(async () => {
  for (const name of names) {
    const html = readFileSync(examples + name, 'utf8');
    assert.ok(html.trim().split('\n').length <= 12, `${name} has about ten lines`);
    writeFileSync(join(folder, name), html.replaceAll(CDN, './'));
  }
  const disk = readFileSync(`${examples}glass-data.html`, 'utf8');
  const script = pathToFileURL(`${top}dist/glassformer.iife.js`).href;
  writeFileSync(join(folder, 'disk.html'), disk.replace(`${CDN}dist/glassformer.iife.js`, script));
  const weights = readFileSync(`${top}weights/stories-1m.gguf`).toString('base64');
  writeFileSync(
    join(folder, 'script.html'),
    `<!doctype html><title>x</title><script src="${script}"></script><script>const WEIGHTS = '${weights}';</script>`,
  );
  const module = '<!doctype html><html lang="en"><meta charset="utf-8"><title>x</title><script type="module"';
  writeFileSync(
    join(folder, 'heads.html'),
    `${module} src="dist/elements.js"></script><glass-attention data='${HEADS}'></glass-attention></html>`,
  );
  writeFileSync(join(folder, 'react.html'), `${module} src="react.js"></script><main></main></html>`);
  await build({
    stdin: { contents: REACT, resolveDir: top },
    bundle: true,
    format: 'esm',
    outfile: join(folder, 'react.js'),
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'error',
  });
  server = await serve(folder, { also: { '/dist/': `${top}dist`, '/weights/': `${top}weights` } });
});
after(async () => {
  await server?.close();
});

/** Waits until the element of a page has drawn, and returns what it says. @param {any} page */
async function drawn(page) {
  await until(page, () => {
    const root = [...document.querySelectorAll('*')].find(({ localName }) =>
      localName.startsWith('glass-'),
    )?.shadowRoot;
    return root?.querySelector('.body')?.children.length && !root.querySelector('.line')?.textContent;
  });
  return page.evaluate(() => {
    const parts = (/** @type {any} */ root) => [
      root.querySelector('.body').textContent,
      ...[...root.querySelectorAll('*')]
        .filter(({ shadowRoot }) => shadowRoot)
        .map(({ shadowRoot }) => parts(shadowRoot)),
    ];
    const found = [...document.querySelectorAll('*')].find(({ localName }) => localName.startsWith('glass-'));
    return parts(found?.shadowRoot).flat(9).join(' ');
  });
}

const SAID = {
  'glass-attention.html': /Layer 2, head 3: “\.” \(12\) gives \d+\.\d % of its attention to/,
  'glass-data.html': /“sat” \(2\) gives 70\.0 % of its attention to “cat” \(1\)/,
  'glass-former.html': /upon436.*next token/,
  'glass-next.html': /She11\.468\.\d %/,
  'glass-parameters.html': /feed-forward675,840718,08053\.3 %.*total1,267,072/,
  'glass-tokens.html': /\[start\]0Once423upon436/,
};

inEachEngine((own) => {
  for (const name of names.filter((each) => each !== 'glass-former.html'))
    test(`${name} draws`, async () => {
      const page = await own.browser.open(server.url + name);
      assert.match(await drawn(page), SAID[/** @type {keyof typeof SAID} */ (name)]);
      await page.close();
    });

  test('a page opened from disk draws plain data', async () => {
    const page = await own.browser.open(pathToFileURL(join(folder, 'disk.html')).href);
    assert.match(await drawn(page), SAID['glass-data.html']);
    await page.close();
  });

  // The calls of the classic script threw until an element had loaded a model: the initialiser of index.js was missing.
  test('a page opened from disk counts, loads a model and generates with the classic script alone', async () => {
    const page = await own.browser.open(pathToFileURL(join(folder, 'script.html')).href);
    const found = await page.evaluate(async () => {
      const { countParameters, load, Model } = /** @type {any} */ (window).glassformer;
      // @ts-expect-error the page declares it
      const bytes = Uint8Array.from(atob(WEIGHTS), (c) => c.charCodeAt(0));
      const model = await load(bytes);
      const { ids } = await model.complete('Once upon', { maxTokens: 4, temperature: 0 });
      model.dispose();
      return [countParameters('gpt2').total, model instanceof Model, ids];
    });
    const model = await load(`${top}weights/stories-1m.gguf`);
    const { ids } = await model.complete('Once upon', { maxTokens: 4, temperature: 0 });
    model.dispose();
    assert.deepEqual(found, [124439808, true, ids]);
    await page.close();
  });

  test('React gives data as a property, and its listener hears the cell that an arrow key chooses', async () => {
    const page = await own.browser.open(`${server.url}react.html`);
    assert.match(await drawn(page), /“b” \(1\) gives 60\.0 %/);
    await page.evaluate(() => {
      const matrix = document.querySelector('glass-attention')?.shadowRoot?.querySelector('.matrix');
      matrix?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft', bubbles: true }));
    });
    await until(page, () => document.title.includes('query'));
    assert.deepEqual(JSON.parse(await page.evaluate(() => document.title)), { layer: 0, head: 0, query: 1, key: 1 });
    await page.close();
  });

  test('<glass-former> draws and writes, a token of the text shows what may follow it, and removal ends it', async () => {
    const page = await own.browser.open(`${server.url}glass-former.html`);
    assert.match(await drawn(page), SAID['glass-former.html']);
    await page.evaluate(() => {
      const former = /** @type {any} */ (document.querySelector('glass-former'));
      former.addEventListener('done', (/** @type {any} */ { detail }) => (document.title = `done ${detail.text}`));
      former.shadowRoot.querySelector('button').click();
    });
    await until(page, () => document.title.startsWith('done'));
    assert.ok((await page.evaluate(() => document.title)).length > 100);
    const next = () => {
      const former = document.querySelector('glass-former')?.shadowRoot;
      return former?.querySelector('glass-next')?.shadowRoot?.textContent;
    };
    const old = await page.evaluate(next);
    await page.evaluate(() => {
      const former = document.querySelector('glass-former')?.shadowRoot;
      const strip = former?.querySelector('glass-tokens')?.shadowRoot;
      /** @type {any} */ (strip?.querySelectorAll('.token')[3]).click();
    });
    await until(page, () => {
      const former = document.querySelector('glass-former')?.shadowRoot;
      return former?.querySelector('glass-attention')?.shadowRoot?.textContent?.includes('(3) gives');
    });
    await until(
      page,
      (/** @type {string} */ old) => {
        const former = document.querySelector('glass-former')?.shadowRoot;
        return former?.querySelector('glass-next')?.shadowRoot?.textContent !== old;
      },
      [old],
    );
    // after a refusal the model was disposed of, so that no other prompt could be written
    const write = (/** @type {string} */ prompt) => {
      const form = document.querySelector('glass-former')?.shadowRoot?.querySelector('form');
      /** @type {any} */ (form?.querySelector('input')).value = prompt;
      form?.querySelector('button')?.click();
    };
    await page.evaluate(write, 'a '.repeat(5000));
    await until(page, () => !!document.querySelector('glass-former')?.shadowRoot?.querySelector('[role=alert]'));
    await page.evaluate(write, 'The cat');
    await until(page, () => document.title.includes('The cat'));
    // the tokens of data led to what may follow those of the model's text
    // and beside them stood the heads of the model's text
    const [asksForPrompt, hasHeads] = await page.evaluate(async () => {
      const former = /** @type {any} */ (document.querySelector('glass-former'));
      former.data = { tokens: ['a', 'b'] };
      await new Promise((resolve) => setTimeout(resolve));
      former.shadowRoot.querySelector('glass-tokens').shadowRoot.querySelector('.token').click();
      const heads = former.shadowRoot.querySelector('glass-attention').shadowRoot.querySelector('.matrix');
      return [former.shadowRoot.querySelector('form') !== null, heads !== null];
    });
    assert.deepEqual([asksForPrompt, hasHeads], [false, false]);
    await page.evaluate(() => document.querySelector('glass-former')?.remove());
    assert.deepEqual(await page.complaints(), []);
    await page.close();
  });

  test('keys that an element uses do not reach the page around it, and compact fits a slide', async () => {
    const page = await own.browser.open(`${server.url}glass-former.html`);
    await drawn(page);
    const [heard, heights] = await page.evaluate(async () => {
      const former = /** @type {any} */ (document.querySelector('glass-former'));
      /** @type {string[]} */
      const heard = [];
      document.addEventListener('keydown', ({ key }) => heard.push(key));
      const press = (/** @type {Element} */ on, /** @type {string[]} */ keys) => {
        for (const key of keys)
          on.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, composed: true, cancelable: true }));
      };
      const heads = former.shadowRoot.querySelector('glass-attention').shadowRoot;
      press(former.shadowRoot.querySelector('input'), ['a', ' ', 'ArrowRight', 'PageDown']);
      press(former.shadowRoot.querySelector('button'), [' ', 'Enter', 'F5']);
      press(heads.querySelector('.tile'), ['ArrowRight', 'PageDown']);
      press(heads.querySelector('.matrix'), ['ArrowLeft', 'Escape']);
      former.style.width = '900px';
      const height = async () => {
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        return former.getBoundingClientRect().height;
      };
      const full = await height();
      former.toggleAttribute('compact', true);
      return [heard, [full, await height()]];
    });
    assert.deepEqual(heard, ['F5', 'PageDown', 'Escape']);
    assert.ok(heights[1] < 540 && heights[1] < heights[0], `${heights}`); // a slide of 960 by 540
    await page.close();
  });

  test('arrow keys move among the heads; data of another form gives one sentence and an error event', async () => {
    const page = await own.browser.open(`${server.url}heads.html`);
    assert.match(await drawn(page), /head 1: “b” \(1\) gives 75\.0 %/);
    await page.evaluate(() => {
      const tile = document.querySelector('glass-attention')?.shadowRoot?.querySelector('.tile');
      tile?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
    });
    assert.match(await drawn(page), /head 2: “b” \(1\) gives 75\.0 % of its attention to “a”/);
    const said = await page.evaluate(async () => {
      const element = /** @type {any} */ (document.querySelector('glass-attention'));
      const heard = new Promise((resolve) => element.addEventListener('error', resolve, { once: true }));
      element.data = { tokens: ['a', 'b'], pattern: [[1, 0], [0.5]] };
      const { message } = /** @type {ErrorEvent} */ (await heard);
      return [message, element.shadowRoot.querySelector('[role=alert]').textContent];
    });
    const sentence = 'row 1 of layer 0, head 0 of pattern has 2 numbers; found [0.5]';
    assert.deepEqual(said, [sentence, `${sentence}.`]);
    await page.close();
  });
});
