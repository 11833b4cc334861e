// run.js - runs the fixtures that the command line names, or all: the packed package in each bundler and host
//
//   ./build.sh test bundlers [NAME...]     NAME: a fixture's name, or the beginning of names
//
// The last line is `N passed, N failed, N skipped`, as in tests/run.js.
import { fixtures } from './fixtures.js';
import { Suite } from './suite.js';

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !fixtures.some((fixture) => fixture.name.startsWith(name)));
if (unknown.length) {
  console.error(
    `There is no fixture ${unknown.join(', ')}; the fixtures are: ${fixtures.map((fixture) => fixture.name).join(' ')}`,
  );
  process.exit(2);
}
const chosen = fixtures.filter(
  ({ name }) =>
    !wanted.length ||
    wanted.some((each) => (fixtures.some((one) => one.name === each) ? name === each : name.startsWith(each))),
);

const count = { passed: 0, failed: 0, skipped: 0 };
const line = (/** @type {(string | number)[]} */ cells) =>
  cells
    .map((cell, i) => String(cell).padEnd([22, 10, 18, 8, 22, 8, 8][i] ?? 0))
    .join(' ')
    .trimEnd();
console.log(line(['fixture', 'version', 'mode', 'answers', 'workers and binaries', 'threads', 'seconds']));

const suite = new Suite();
try {
  for (const fixture of chosen) {
    await suite.run(fixture, ({ fixture: name, version, mode, answers, from, threads, seconds, problems, skipped }) => {
      count[skipped ? 'skipped' : problems.length ? 'failed' : 'passed'] += mode === 'install' ? 0 : 1;
      console.log(
        skipped
          ? line([name, version, `skipped: ${skipped}`])
          : line([name, version, mode, answers || 'none', from || '-', threads || '-', seconds]),
      );
      for (const problem of problems) console.log(problem.split('\n').slice(-40).join('\n').replace(/^/gm, '    '));
    });
  }
} finally {
  await suite.close();
}
console.log(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
process.exitCode = count.failed > 0 || count.passed + count.skipped === 0 ? 1 : 0;
