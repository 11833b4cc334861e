// cli_page.js - writes docs/cli.md from the help of the command line
//
//   node scripts/cli_page.js     documents.test.js compares the page with the help
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { COMMANDS, HELP, helpOf } from '../web/lib/apps/cli/cli_help.js';

/** The default folder differs from machine to machine. @param {string} text */
const everywhere = (text) =>
  text.replace(/\(default: [^)\n]*glassformer\)/g, '(default: in the cache folder of the user)');

/** @returns {string} the page */
export function cliPage() {
  const commands = Object.keys(COMMANDS).map(
    (name) => `## ${name}\n\n\`\`\`text\n${everywhere(helpOf(name))}\n\`\`\`\n`,
  );
  return `# Command line

\`npx glassformer\` runs the package in a terminal; \`npm install --global glassformer\` installs the command. This page is what
\`glassformer --help\` and \`glassformer COMMAND --help\` print (\`node scripts/cli_page.js\` writes it).

\`\`\`sh
npx glassformer "Once upon a time"                                     # continue a text
npx glassformer --chat -m hf:HuggingFaceTB/SmolLM2-135M-Instruct       # a conversation, one message per line
npx glassformer --json-schema person.json 'The old man was called'     # JSON that is valid under a schema
\`\`\`

## All options

\`\`\`text
${everywhere(HELP)}
\`\`\`

${commands.join('\n')}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(fileURLToPath(new URL('../docs/cli.md', import.meta.url)), cliPage());
