// chat.js - a conversation in the terminal
import { createInterface } from 'node:readline';
import { harmless, printLine } from './terminal.js';

/** @import { Message } from '../../api/call_types.js' */

const HELP = '/reset begins a new conversation, /exit or the end of the input ends it';

/**
 * Answer each line of standard input until its end. The model keeps the keys and values of the conversation.
 * @param {import('../../api/index.js').Model} model
 * @param {Record<string, any>} options  of generate
 * @param {{system?: string, json?: boolean, quiet?: boolean}} o
 */
export async function converse(model, options, { system, json, quiet }) {
  const isTerminal = !!process.stdin.isTTY;
  const lines = createInterface({
    input: process.stdin,
    output: isTerminal ? process.stderr : undefined,
    prompt: '> ',
  });
  const beginning = system === undefined ? [] : [{ role: 'system', content: system }];
  /** @type {Message[]} */
  let messages = [...beginning];
  /** @type {AbortController | null} */
  let answering = null;
  lines.on('SIGINT', () => (answering ? answering.abort() : lines.close()));
  options.signal.addEventListener('abort', () => {
    answering?.abort();
    lines.close();
  });
  if (isTerminal && !quiet) process.stderr.write(`${HELP}\n`);
  if (isTerminal) lines.prompt();
  for await (const line of lines) {
    const text = line.trim();
    if (text === '/exit') break;
    if (text === '/reset') messages = [...beginning];
    else if (text) {
      messages.push({ role: 'user', content: text });
      answering = new AbortController();
      const { signal } = answering;
      try {
        const content = await answer(model, messages, { ...options, signal }, json, quiet);
        messages.push({ role: 'assistant', content });
      } catch (error) {
        messages.pop();
        if (!isTerminal || options.signal.aborted) throw error;
        process.stderr.write(
          answering.signal.aborted ? '\n' : `${harmless(process.stderr, /** @type {Error} */ (error).message)}\n`,
        );
      }
      answering = null;
    }
    if (isTerminal) lines.prompt();
  }
  lines.close();
}

/**
 * Write the answer to the last message.
 * @param {import('../../api/index.js').Model} model
 * @param {Message[]} messages
 * @param {Record<string, any>} options
 * @param {boolean} [json]
 * @param {boolean} [quiet]
 */
async function answer(model, messages, options, json, quiet) {
  const steps = model.chat(messages, options);
  for await (const { text } of steps) if (!json) process.stdout.write(harmless(process.stdout, text));
  const summary = await steps.result;
  const { text, ids, reusedTokens, prefilledTokens, tokensPerSecond } = summary;
  const prompt = messages[messages.length - 1].content;
  if (json) printLine(JSON.stringify({ prompt, ...summary, provenance: await model.provenance() }));
  else process.stdout.write('\n');
  if (!json && !quiet)
    process.stderr.write(
      `${ids.length} tokens, ${tokensPerSecond.toFixed(0)} a second; ` +
        `${prefilledTokens} tokens of the conversation read, ${reusedTokens} kept\n`,
    );
  return text;
}
