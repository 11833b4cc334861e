// constrain_limits.test.js - small schemas and grammars that mean much work are refused, or compiled in time
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compiled } from '../../web/lib/text/constrain/compile.js';
import { grammarAutomaton, reads, schemaAutomaton } from './automata.js';

/** What compiling a schema or grammar throws. */
const refusal = (given) => {
  try {
    compiled(given);
  } catch (error) {
    return error;
  }
  return assert.fail('it was compiled');
};

const numbered = (n, one) => Array.from({ length: n }, (_, i) => one(i));

// Each of these took minutes, gigabytes or the whole stack.
describe('small schemas and grammars that mean much work', () => {
  test('a listed value is compared with a pattern in linear time', () => {
    const automaton = schemaAutomaton({ enum: ['aa', 'a'.repeat(40) + '!', ''], pattern: '^(a+)+$' });
    assert.ok(reads(automaton, '"aa"'));
    assert.ok(!reads(automaton, `"${'a'.repeat(40)}!"`));
    assert.ok(!reads(automaton, '""'));
    for (const [pattern, fitting] of [
      ['^$', ['']],
      ['b$', ['ab']],
      ['^a', ['ab']],
      ['^(?!a)', ['', '\u{1f600}']],
      ['^.$', ['\u{1f600}']],
    ]) {
      const own = schemaAutomaton({ enum: ['', 'ab', '\u{1f600}'], pattern });
      for (const value of ['', 'ab', '\u{1f600}'])
        assert.equal(reads(own, JSON.stringify(value)), fitting.includes(value));
    }
  });

  test('choices that allOf multiplies, and patterns with too many edges, are refused', () => {
    const choices = numbered(10, (i) => ({
      anyOf: numbered(10, (k) => ({ properties: { [`p${i}`]: { const: k } } })),
    }));
    const { code, message } = refusal({ json: { allOf: choices } });
    assert.equal(code, 'unsupported');
    assert.match(message, /: allOf combines anyOf or oneOf to more than 2000 schemas$/);
    for (const inner of [
      'a|'.repeat(1000) + 'b',
      '\\p{L}|' + numbered(500, (i) => String.fromCharCode(0x4e00 + i)).join('|'),
    ])
      assert.match(refusal({ json: { type: 'string', pattern: `^(?:${inner}){15000}$` } }).message, /too many states/);
  });

  test('references that double are followed once, and a circle of them ends', () => {
    const $defs = Object.fromEntries(
      numbered(60, (i) => [`a${i}`, { allOf: [{ $ref: `#/$defs/a${i + 1}` }, { $ref: `#/$defs/a${i + 1}` }] }]),
    );
    const automaton = schemaAutomaton({ $defs: { ...$defs, a60: { const: 1 } }, $ref: '#/$defs/a0' });
    assert.ok(reads(automaton, '1') && !reads(automaton, '2'));
    const one = (i) => ({ required: ['a'], properties: { a: { $ref: `#/oneOf/${i}` } } });
    assert.match(refusal({ json: { oneOf: [one(0), one(1)] } }).message, /must exclude each other/);
    assert.match(
      refusal({
        json: {
          $defs: { b: { $ref: '#/$defs/c', title: 'b' }, c: { allOf: [{ $ref: '#/$defs/b' }] } },
          $ref: '#/$defs/b',
        },
      }).message,
      /refers to itself/,
    );
  });

  test('a multiple of the other divisor is the common one', () => {
    const automaton = schemaAutomaton({ allOf: [{ multipleOf: 0.5 }, { multipleOf: 1.5 }, { type: 'number' }] });
    assert.ok(reads(automaton, '4.5') && !reads(automaton, '4') && !reads(automaton, '0.5'));
  });

  test('depth is refused by name, length is not', () => {
    let deep = { type: 'string' };
    for (let i = 0; i < 5000; i++) deep = { items: deep };
    assert.match(refusal({ json: deep }).message, /has more than 256 schemas inside each other$/);
    assert.match(
      refusal({ grammar: `root ::= "a"${'*'.repeat(50_000)}` }).message,
      /at most 64 repetitions of one item/,
    );
    const names = numbered(5000, (i) => `p${i}`);
    const automaton = schemaAutomaton({ properties: Object.fromEntries(names.map((name) => [name, { const: 1 }])) });
    assert.ok(reads(automaton, '{"p7":1,"p4999":1}') && !reads(automaton, '{"p8":1,"p7":1}') && reads(automaton, '{}'));
    const list = schemaAutomaton({ prefixItems: numbered(5000, (i) => ({ const: i % 2 })), minItems: 2 });
    assert.ok(reads(list, '[0,1]') && reads(list, '[0,1,0]') && !reads(list, '[0]') && !reads(list, '[0,1,1]'));
    const rules = numbered(10_000, (i) => `${i ? `r${i}` : 'root'} ::= "x" r${i + 1}`);
    const chain = grammarAutomaton([...rules, 'r10000 ::= "y"'].join('\n'));
    assert.ok(reads(chain, `${'x'.repeat(10_000)}y`));
  });
});
