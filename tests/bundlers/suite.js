// suite.js - runs fixtures: installs and builds each, gets the results of its page, route or program, and compares them
// with those of this tree's library
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, realpathSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { load, train } from '../../web/lib/api/index.js';
import { check } from './check.js';
import { Pages, isolated, listen } from './pages.js';
import { Unavailable, Workshop, runCommand, startServer } from './projects.js';

/**
 * One way to run a fixture. A page gives its result at `page`, a route at `api`, a program on standard output.
 * @typedef {object} Run
 * @property {string} mode        its name in the table: build, dev, ...
 * @property {string} [build]     command line
 * @property {string} [serve]     folder for a static server, after `build`
 * @property {string} [start]     command line of a server; {port} is replaced
 * @property {(folder: string) => Promise<{url: string, origins?: string[], close(): Promise<void>}>} [host] another
 *   server; origins: other origins that its page requests
 * @property {string} [page]      path; default: the root
 * @property {string} [frame]     the frame of the page that has the result
 * @property {string} [api]       path whose response body is the result
 * @property {string} [program]   command line that prints the result in a line after RESULT
 * @property {string} [passes]    command line that has to exit with status 0 and print no warning
 * @property {'file' | 'shim' | 'copy'} [workers]   where the workers' scripts come from; default: file
 * @property {'file' | 'copy'} [binaries]   default: file
 * @property {boolean} [misses]   requests for the package's files fail before the embedded copy is used
 * @property {RegExp} [complains]  the browser's messages about those requests
 * @property {boolean} [threads]  whether a second thread runs where the page is isolated; default: where files are used
 * @property {boolean} [prefetches]  its pages ask the browser to fetch every file of the build when it is idle
 * @property {boolean} [story]  the page has a button that writes a story into <output>; a route answers with one
 * @property {boolean} [offline]  the page writes again after it was reloaded without a network
 * @property {boolean} [extension]  the folder is an extension, which is loaded into Chromium; `page` is one of its pages
 * @property {boolean} [slides]  the page is a deck with a figure: keys that are typed into it turn no slide
 * @property {Record<string, string>} [env]
 * @property {{pattern: RegExp, why: string}[]} [prints] messages that are about the tool or the project, not about the
 *   package
 */
/**
 * @typedef {object} Fixture
 * @property {string} name
 * @property {string} [version]   version in the table; default: that of the first package
 * @property {string[]} [packages]  from npm, with exact versions
 * @property {Record<string, string>} files
 * @property {string} [node]      exact version of the Node that runs the tools; default: this one
 * @property {string} [workspace]
 * @property {boolean} [quick]    part of ./build.sh test package
 * @property {Run[]} runs
 */
/**
 * The result of one run.
 * @typedef {object} Row
 * @property {string} fixture
 * @property {string} version
 * @property {string} mode
 * @property {string} answers
 * @property {string} from
 * @property {string} threads
 * @property {number} seconds
 * @property {string[]} problems
 * @property {string} [skipped]
 */

const top = fileURLToPath(new URL('../..', import.meta.url)),
  MODEL = join(top, 'weights/stories-1m.gguf');
const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};

/**
 * A static server without special headers.
 * @param {string} folder
 * @param {(path: string) => Record<string, string>} [headers]  added to the answer for a path
 */
export function staticServer(folder, headers = () => ({})) {
  const root = realpathSync(folder);
  return listen(
    createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://host');
      try {
        const file = realpathSync(join(root, decodeURIComponent(pathname), pathname.endsWith('/') ? 'index.html' : ''));
        if (!file.startsWith(root + sep) || !statSync(file).isFile()) throw new Error('no file');
        response.writeHead(200, {
          'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
          ...headers(pathname),
        });
        createReadStream(file).pipe(response);
      } catch {
        response.writeHead(404, { 'content-type': 'text/plain', ...headers(pathname) }).end('not found');
      }
    }),
  );
}

/**
 * The address of an unpacked extension: Chromium makes its id of the folder's path.
 * @param {string} folder
 */
function extensionUrl(folder) {
  const digits = createHash('sha256').update(folder).digest('hex').slice(0, 32);
  const id = digits.replace(/./g, (digit) => String.fromCharCode('a'.charCodeAt(0) + parseInt(digit, 16)));
  return `chrome-extension://${id}/`;
}

/**
 * Lines in which a tool prints a warning.
 * @param {string} output
 * @param {Run['prints']} [expected]
 */
function warnings(output, expected = []) {
  const lines = output
    .replace(/\x1b\[[\d;]*m/g, '')
    .split('\n')
    .filter(
      (line) =>
        /\bwarn(?:ing)?s?\b|^\s*[([]!+[)\]]|deprecat|⚠|could not (?:be )?resolve|can't resolve/i.test(line) &&
        !/\b(?:0|no) warnings?\b/i.test(line) &&
        !/\s[\d.]+mb ⚠\S*\s*$/.test(line), // esbuild's mark on files of 1 MB and more
    );
  return lines
    .filter((line) => !expected.some(({ pattern }) => pattern.test(line)))
    .map((line) => `the tool prints: ${line.trim()}`);
}

/**
 * Press the button of a recipe, and wait for its story; once more without a network.
 * @param {string} story
 * @param {Run} run
 */
const writes = (story, { offline }) => ({
  async until(/** @type {import('playwright-core').Page} */ page) {
    const write = async () => {
      await page.getByRole('button', { name: 'Write' }).click();
      await page.locator('output').filter({ hasText: story.trim() }).waitFor();
    };
    await write();
    if (!offline) return;
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.context().setOffline(true);
    await page.reload();
    await write();
  },
});

/**
 * Type into the figure of a deck what turns slides elsewhere.
 * @param {import('playwright-core').Page} page
 */
async function turnsNoSlide(page) {
  const input = page.locator('glass-former input');
  await input.waitFor();
  await page.locator('glass-former glass-next tbody tr').nth(9).waitFor();
  await input.fill('');
  await input.pressSequentially('a long no');
  for (const key of ['ArrowLeft', 'ArrowRight', 'Space', 'Escape']) await input.press(key);
  const { slide, value, fits } = await page.evaluate(() => {
    const figure = document.querySelector('glass-former');
    return {
      slide: document.querySelectorAll('section')[0].classList.contains('present'),
      value: figure.shadowRoot.querySelector('input').value,
      fits: figure.offsetHeight <= document.querySelector('.slides').offsetHeight,
    };
  });
  if (!slide || value !== 'a long no ' || !fits) throw new Error(JSON.stringify({ slide, value, fits }));
}

export class Suite {
  #workshop = new Workshop();
  #pages = new Pages();
  /** @type {Promise<any> | undefined} */
  #expected;
  /** @type {Promise<{url: string, close(): Promise<void>}> | undefined} */
  #models;
  /** The story of the recipes. @type {Promise<string> | undefined} */
  #written;

  /** What the library of this tree answers. */
  #expect() {
    this.#expected ??= check({ load, train }, MODEL).then(({ answers }) => {
      if (
        answers.greedy.length !== 40 ||
        answers.seeded.length !== 40 ||
        isDeepStrictEqual(answers.greedy, answers.seeded)
      )
        throw new Error('the expected tokens are not 40 greedy and 40 others');
      return answers;
    });
    return this.#expected;
  }

  /** A server of the model on an origin of its own. */
  async #model() {
    this.#models ??= listen(
      createServer((_, response) => {
        response.writeHead(200, {
          'content-type': 'application/octet-stream',
          'access-control-allow-origin': '*',
          'cross-origin-resource-policy': 'cross-origin',
        });
        response.end(readFileSync(MODEL));
      }),
    );
    return `${(await this.#models).url}stories-1m.gguf`;
  }

  /**
   * @param {Fixture} fixture
   * @param {(row: Row) => void} tell  called for each run
   */
  async run(fixture, tell) {
    const version = fixture.version ?? /.@([^@]+)$/.exec(fixture.packages?.[0] ?? '')?.[1] ?? '';
    const row = (/** @type {Partial<Row>} */ fields) => ({
      fixture: fixture.name,
      version,
      mode: '',
      answers: '',
      from: '',
      threads: '',
      seconds: 0,
      problems: [],
      ...fields,
    });
    const began = Date.now(),
      seconds = () => Math.round((Date.now() - began) / 1000);
    let project, path;
    try {
      path = fixture.node ? await this.#workshop.node(fixture.node) : undefined;
      project = await this.#workshop.project({ ...fixture, path });
    } catch (error) {
      if (error instanceof Unavailable) return tell(row({ skipped: error.message, seconds: seconds() }));
      return tell(row({ problems: [error.message], seconds: seconds() }));
    }
    try {
      const installed = seconds();
      tell(row({ mode: 'install', answers: '-', from: '-', threads: '-', seconds: installed }));
      for (const run of fixture.runs) {
        const start = Date.now(),
          result = row({ mode: run.mode });
        try {
          await this.#perform(run, project.folder, path, result);
        } catch (error) {
          result.problems.push(error.message);
        }
        result.seconds = Math.round((Date.now() - start) / 1000);
        tell(result);
      }
    } finally {
      project.remove();
    }
  }

  /**
   * @param {Run} run
   * @param {string} folder
   * @param {string | undefined} path
   * @param {Row} row
   */
  async #perform(run, folder, path, row) {
    const options = { path, env: run.env };
    if (run.build) row.problems.push(...warnings(await runCommand(run.build, folder, options), run.prints));
    if (run.passes) {
      row.problems.push(...warnings(await runCommand(run.passes, folder, options), run.prints));
      [row.answers, row.from, row.threads] = ['passes', '-', '-'];
      return;
    }
    if (run.program) {
      const output = await runCommand(`${run.program} ${await this.#model()}`, folder, {
        ...options,
        env: { ...run.env, MODEL: await this.#model() },
      });
      row.problems.push(...warnings(output, run.prints));
      const answer = /^.*RESULT (.*)$/m.exec(output)?.[1];
      if (!answer) throw new Error(`no answer was printed:\n${output}`);
      const result = JSON.parse(answer);
      await this.#judge(run, result, row);
      return this.#judgeThreads(run, result.threads, row);
    }
    if (!run.serve && !run.start && !run.host && !run.extension) return;
    if (run.story || run.slides) [row.from, row.threads] = ['-', '-'];
    if (run.extension) return this.#askStory(run, extensionUrl(folder), row, folder);
    const server = run.start
      ? await startServer(run.start, folder, options)
      : run.host
        ? await run.host(folder)
        : await staticServer(join(folder, run.serve ?? ''));
    try {
      if (run.story || run.slides) return await this.#askStory(run, server.url, row);
      await (run.api
        ? this.#askRoute(run, server.url, row)
        : this.#askPage(run, server.url, row, 'origins' in server ? server.origins : []));
      if ('output' in server) row.problems.push(...warnings(server.output(), run.prints));
    } finally {
      await ('stop' in server ? server.stop() : server.close());
    }
  }

  /**
   * The story that a recipe writes, or that its route answers.
   * @param {Run} run
   * @param {string} url
   * @param {Row} row
   * @param {string} [extension]  its folder
   */
  async #askStory(run, url, row, extension) {
    this.#written ??= load(MODEL).then(async (model) => {
      const { text } = await model.complete('Once upon a time', { maxTokens: 40, temperature: 0 });
      model.dispose();
      return text;
    });
    const story = await this.#written,
      address = String(new URL(run.page ?? '', url));
    if (run.api !== undefined) {
      const text = await (await fetch(address)).text();
      row.answers = text === story ? 'equal' : 'differ';
      if (text !== story) row.problems.push(`the route answers ${text.slice(0, 2000)}`);
      return;
    }
    const { complaints, failed } = await this.#pages.visit(
      address,
      run.slides ? { until: turnsNoSlide } : { ...writes(story, run), extension },
    );
    row.answers = 'equal'; // the visit ends with an error where it is not
    row.problems.push(
      ...complaints.map((text) => `the page complains: ${text}`),
      ...failed.map((text) => `a request failed: ${text}`),
    );
  }

  /**
   * @param {Run} run
   * @param {string} url
   * @param {Row} row
   */
  async #askRoute(run, url, row) {
    const response = await fetch(new URL(`${run.api}?model=${encodeURIComponent(await this.#model())}`, url)),
      text = await response.text();
    if (!response.ok) throw new Error(`the route answers ${response.status}: ${text.slice(0, 2000)}`);
    row.threads = '-';
    await this.#judge(run, JSON.parse(text), row);
  }

  /**
   * @param {Run} run
   * @param {string} url
   * @param {Row} row
   * @param {string[]} [elsewhere] other origins that the page may ask
   */
  async #askPage(run, url, row, elsewhere) {
    const asked = `${run.page ?? ''}?model=${encodeURIComponent(await this.#model())}`;
    const first = await this.#pages.visit(String(new URL(asked, url)), { frame: run.frame });
    await this.#judge(run, first.result, row);
    const unexpected = (/** @type {string[]} */ complaints) => complaints.filter((text) => !run.complains?.test(text));
    row.problems.push(...unexpected(first.complaints).map((text) => `the page complains: ${text}`));
    if (!run.misses) row.problems.push(...first.failed.map((text) => `a request failed: ${text}`));
    else if (!first.failed.length) row.problems.push('no request failed, as this fixture is said to have it');
    const origins = [new URL(url).origin, new URL(await this.#model()).origin, ...(elsewhere ?? [])];
    const strange = first.requests.filter((each) => /^https?:/.test(each) && !origins.includes(new URL(each).origin));
    row.problems.push(...strange.map((text) => `a request left the page's origin: ${text}`));
    const binaries = new Set(first.requests.filter((each) => /\.wasm\b/.test(each)));
    if (/wasm file/.test(row.from) && binaries.size !== 2 && !run.prefetches)
      row.problems.push(`expected one binary to run and one to train, found ${[...binaries].join(' ')}`);
    if (url.startsWith('file:')) return; // no headers
    const proxy = await isolated(url);
    try {
      const { result, complaints } = await this.#pages.visit(String(new URL(`${asked}&threads`, proxy.url)), {
        frame: run.frame,
      });
      if (result.error) row.problems.push(`isolated: ${result.error}`);
      else await this.#judgeThreads(run, result, row);
      row.problems.push(...unexpected(complaints).map((text) => `the isolated page complains: ${text}`));
    } finally {
      await proxy.close();
    }
  }

  /**
   * The result with threads: 2.
   * @param {Run} run
   * @param {{greedy: number[], backend: string}} result
   * @param {Row} row
   */
  async #judgeThreads(run, { greedy, backend }, row) {
    const two = /2 threads/.test(backend),
      expected = run.threads ?? (!run.workers || run.workers === 'file');
    if (!isDeepStrictEqual(greedy, (await this.#expect()).greedy)) row.problems.push('with threads: 2 other tokens');
    if (two !== expected) row.problems.push(`with threads: 2 the backend is ${backend}`);
    row.threads = two ? 'yes' : 'no';
  }

  /**
   * @param {Run} run
   * @param {any} result
   * @param {Row} row
   */
  async #judge(run, result, row) {
    if (result.error) throw new Error(result.error);
    const expected = await this.#expect(),
      { answers, from } = result,
      workers = run.workers ?? 'file',
      binaries = run.binaries ?? (workers === 'copy' ? 'copy' : 'file');
    const different = Object.keys(expected).filter((name) => !isDeepStrictEqual(answers[name], expected[name]));
    const brief = (/** @type {unknown} */ value) => JSON.stringify(value)?.slice(0, 300);
    row.problems.push(
      ...different.map((name) => `${name} is ${brief(answers[name])}, expected ${brief(expected[name])}`),
    );
    row.answers = different.length ? 'differ' : 'equal';
    row.from = `${[...new Set(from.workers)].join('+')}, wasm ${from.binaries}`;
    if (from.workers.some((/** @type {string} */ each) => each !== workers))
      row.problems.push(`workers started from: ${from.workers.join(', ')}, expected ${workers}`);
    if (from.binaries !== binaries) row.problems.push(`binaries came from: ${from.binaries}, expected ${binaries}`);
  }

  async close() {
    await this.#pages.close();
    await (await this.#models)?.close();
    this.#workshop.remove();
  }
}
