// chat_templates.test.js - chat templates are rendered as Jinja2 renders them in the environment of transformers, within limits
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { renderTemplate } from '../../web/lib/text/template/render_template.js';
import { top } from './helpers.js';

// Jinja2 3.1.6, transformers 5.24.0, Python 3.11: tests/golden/chat/make_templates.py
const { versions, variables, cases } = JSON.parse(readFileSync(join(top, 'tests/golden/chat/templates.json'), 'utf8'));
const messages = variables.messages;

describe(`Jinja2 ${versions.jinja2}`, () => {
  for (const [what, chosen] of [
    ['templates with the constructs of published ones', cases.filter(({ own }) => own)],
    ['generated templates', cases.filter(({ own }) => !own)],
  ])
    test(`${what} give its texts, and are refused where it raises`, () => {
      const wrong = [];
      for (const { template, own, text } of chosen) {
        let got = null;
        try {
          got = renderTemplate(template, { ...variables, ...own });
        } catch {}
        if (got !== text) wrong.push({ template, got, text });
      }
      assert.deepEqual(wrong, []);
      assert.ok(chosen.length >= 90);
    });
});

test('what Python cannot print twice the same is printed or refused', () => {
  assert.match(
    renderTemplate('{{ strftime_now("%Y-%m-%d %H:%M %B %j %%") }}', {}),
    /^\d{4}-\d\d-\d\d \d\d:\d\d [A-Z][a-z]+ \d{3} %$/,
  );
  assert.ok(['1', '2'].includes(renderTemplate('{{ [1, 2] | random }}', {})));
  for (const [template, words] of [
    ['{{ raise_exception("no system role") }}', /^Error: no system role$/],
    ['{{ [1] | map("upper") }}', /a generator has no text/],
    ['{{ "a".encode() }}', /encode of str is not supported/],
    ['{{ lipsum() }}', /lipsum is not supported/],
    ['{{ ["x" * 99] | pprint }}', /more than one line/],
    ['{{ (-8) ** 0.5 }}', /complex number/],
    ['{{ messages.append(1) }}', /must not use append of a list/],
    ['{{ range(-(2 ** 70)) }}', /range beyond 2\^53/],
    ['{{ [zzz | attr("n")] }}', /'zzz' is undefined/],
    ['{{ zzz | reverse | count }}', /has no len\(\)/],
    ['{{ range(4) | reverse | count }}', /has no len\(\)/],
    ['{% include "x" %}', /include has no other template/],
    ['{{ [[1, 2], [3]] | urlencode }}', /not a pair/],
    ['{{ messages[0].role.upper }}{{ x.y }}', /'x' is undefined/],
  ])
    assert.throws(() => renderTemplate(template, { messages }), words);
});

// Pieces kept no white space at the end of the text, or at its beginning from the right, where no split is left for it.
test('split and rsplit with a number of splits leave the rest as it is', () => {
  for (const [call, text] of [
    ["'  x  y '.rsplit(none, 1)", "['  x', 'y']"],
    ["'  x  y '.rsplit(none, 0)", "['  x  y']"],
    ["'  x  y '.rsplit()", "['x', 'y']"],
    ["'  x  y '.split(none, 1)", "['x', 'y ']"],
    ["'  x  y '.split(none, 0)", "['x  y ']"],
    ["'  x  y '.split(none, 2)", "['x', 'y']"],
    ["' a b  c '.split(maxsplit=1)", "['a', 'b  c ']"],
    ["' a b  c '.rsplit(none, 2)", "[' a', 'b', 'c']"],
    ["'   '.split(none, 0)", '[]'],
    ["'\\u2003a\\u00a0b \\t'.split(none, 1)", "['a', 'b \\t']"],
  ])
    assert.equal(renderTemplate(`{{ ${call} }}`, {}), text, call);
});

const repeated = (n, body, end = '') =>
  `{% set ns = namespace(x='ab', l=[1], t=(1,), n=1) %}{% for i in range(${n}) %}${body}{% endfor %}${end}`;
for (const [what, template, words] of [
  ['a range of a thousand million', '{{ range(1000000000) }}', /range\(0, 1000000000, 1\) has more than/],
  ['a range that does not advance', '{{ range(0, 1, 0) }}', /step of zero/],
  [
    'loops in loops',
    '{% for i in range(99999) %}{% for j in range(99999) %}{{ i }}{% endfor %}{% endfor %}',
    /steps|ms|characters/,
  ],
  ['a text that doubles', repeated(60, '{% set ns.x = ns.x ~ ns.x %}'), /characters and entries/],
  ['a list that doubles', repeated(60, '{% set ns.l = ns.l + ns.l %}'), /characters and entries/],
  [
    'a list that holds itself twice',
    repeated(60, '{% set ns.l = [ns.l, ns.l] %}', '{{ ns.l | tojson }}'),
    /entries|ms/,
  ],
  ['such a list, printed', repeated(60, '{% set ns.l = [ns.l, ns.l] %}', '{{ ns.l }}'), /entries|ms/],
  [
    'such a list, compared',
    repeated(
      60,
      '{% set ns.l = [ns.l, ns.l] %}',
      '{{ ns.l == [ns.l[0], ns.l[1]] }}{{ [ns.l] < [ns.l] }}{{ {(1, 2): 3}[(1, ns.l)] }}{{ ns.l | string }}',
    ),
    /steps|ms|entries/,
  ],
  [
    'a tuple that holds itself twice, as a key',
    repeated(60, '{% set ns.t = (ns.t, ns.t) %}', '{{ {}[ns.t] }}'),
    /steps|ms|entries|unhashable|deep/,
  ],
  [
    'a namespace that holds itself',
    repeated(60, '{% set ns.l = namespace(a=ns, b=[ns.l, ns.l]) %}', '{{ ns }}'),
    /steps|ms|entries/,
  ],
  ['an integer that squares', repeated(60, '{% set ns.n = (ns.n + 1) ** 2 %}'), /\*\*|steps|ms|size|long/],
  ['an integer that is multiplied', repeated(99999, '{% set ns.n = ns.n * 99999 %}', '{{ ns.n }}'), /digits|ms|long/],
  ['a power', '{{ 10 ** 99999999 }}', /too long/],
  ['a wide indentation', '{{ "a\nb" | indent(1000000000) }}', /characters/],
  ['a wide field', '{{ "%1000000000d" % 1 }}', /characters/],
  ['a wide specification', '{{ "{:1000000000}".format(1) }}', /characters/],
  ['many digits', '{{ "%.100000f" % 0.1 }}', /digits/],
  ['a text many times', '{{ "ab" * 1000000000 }}', /characters/],
  ['a text joined many times', '{{ ("ab" * 1000) | join("x" * 100000) }}', /characters/],
  ['a replacement many times', '{{ ("a" * 100000) | replace("", "x" * 1000) }}', /characters/],
  ['a macro that calls itself', '{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}', /nested|call stack/],
  ['parentheses in parentheses', `{{ ${'('.repeat(1e5)}1${')'.repeat(1e5)} }}`, /nested|call stack/],
  ['signs before signs', `{{ ${'- '.repeat(1e5)}1 }}`, /nested|call stack/],
  ['blocks in blocks', `${'{% if true %}'.repeat(1e4)}${'{% endif %}'.repeat(1e4)}`, /nested|call stack/],
])
  test(`${what} is refused`, (t) => {
    let now = 0;
    t.mock.method(performance, 'now', () => now++); // 64 nodes take 1 ms, also on a busy machine
    assert.throws(() => renderTemplate(template, { messages }), words);
  });

// Lists were counted as steps, and the time was compared at every 256th step only, which such counts skip.
test('the time is compared while nodes are evaluated, and the entries of lists are steps', (t) => {
  let now = 0;
  let step = 3000;
  t.mock.method(performance, 'now', () => (now += step));
  assert.throws(() => renderTemplate('{{ 1 }}'.repeat(200), { messages }), /5000 ms/);
  step = 0;
  const lists = '{% for i in range(300) %}{{ range(99999) | list | length }}{% endfor %}';
  assert.throws(() => renderTemplate(lists, { messages }), /20000000 steps/);
});

test('a template that looks through all messages for each stays within the limits for 800 of them', (t) => {
  t.mock.method(performance, 'now', () => 0); // the steps count, on a slow machine too
  // each message looks through those before it, as templates of models with tools do
  const template =
    '{% for m in messages %}{% set ns = namespace(n=0) %}{% for k in range(loop.index0) %}{% if messages[k].role == m.role %}{% set ns.n = ns.n + 1 %}{% endif %}{% endfor %}{{ ns.n % 2 }}{% endfor %}';
  const many = Array.from({ length: 800 }, (_, i) => ({ role: i % 2 ? 'user' : 'assistant', content: 'x' }));
  assert.equal(renderTemplate(template, { messages: many }).length, 800);
});
