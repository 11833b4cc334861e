// command_lines.js - a program that runs many command lines of the package one after another in one process, and prints
// what each of them printed, as JSON: [{code, out, err}]
//
//   node command_lines.js CLI LISTS     LISTS: a JSON array of lists of arguments; standard input is not connected
const [cli, lists] = process.argv.slice(2);
const { stdout, stderr } = process;
const write = stdout.write.bind(stdout),
  writeError = stderr.write.bind(stderr);
const results = [];
process.setMaxListeners(0); // each command line adds its own
stdout.setMaxListeners(0);
for (const [i, args] of JSON.parse(lists).entries()) {
  const result = { code: 0, out: '', err: '' };
  const into = (/** @type {'out' | 'err'} */ key) => (/** @type {any} */ text) => {
    result[key] += text;
    return true;
  };
  [stdout.write, stderr.write] = [into('out'), into('err')];
  process.argv = [process.execPath, cli, ...args];
  process.exitCode = undefined;
  await import(`${cli}?${i}`); // its module runs once for each address
  results.push({ ...result, code: process.exitCode ?? 0 });
}
[stdout.write, stderr.write] = [write, writeError];
process.exitCode = 0;
console.log(JSON.stringify(results));
