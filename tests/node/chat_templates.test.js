// chat_templates.test.js - a model's chat template is rendered as the library renders it, within limits
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Template } from '@huggingface/jinja';
import { renderTemplate } from '../../web/lib/text/render_template.js';

const messages = [
  { role: 'user', content: 'A question?' },
  { role: 'assistant', content: 'An answer.' },
  { role: 'user', content: 'Another.' },
];

test('templates give the text of the library', () => {
  for (const template of [
    '{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m["content"] | trim }}{{ "\n" }}{% endfor %}',
    '{% for i in range(2, 9, 3) %}{{ i }} {% endfor %}{% for i in range(3) %}{{ i }}{% endfor %}{{ range(3, 0) | length }}',
    '{% if messages[0].role == "user" and true and not False %}{{ None }}{{ messages | tojson }}{% endif %}',
    '{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}',
    '{% macro wrap(x) %}[{{ x }}]{% endmacro %}{{ wrap(messages[1].content) }}{{ strftime_now("%Y") }}',
  ]) {
    const variables = { messages, bos_token: '<s>' };
    assert.equal(renderTemplate(template, variables), new Template(template).render(variables));
  }
  assert.throws(() => renderTemplate('{{ raise_exception("no system role") }}', {}), /^Error: no system role$/);
});

// The library alone loses what was written before continue and break, keeps what an iteration sets, and strips blanks
// whichever characters it is given. The texts are those of Jinja2 3.1.6 (Python) with trim_blocks and lstrip_blocks.
test('loops and strip give the texts of Jinja2', () => {
  const given = [
    { role: 'system', content: 'S' },
    { role: 'user', content: ' \n q \n' },
    { role: 'assistant', content: '\n\n  a\n' },
    { role: 'user', content: 'xyx' },
  ];
  const each = (body) => `{% for m in messages %}${body}{% endfor %}`;
  for (const [template, text] of [
    [
      each("[{{ m.role }}]{% if m.role == 'system' %}S;{% continue %}{% endif %}{{ m.content | trim }};"),
      '[system]S;[user]q;[assistant]a;[user]xyx;',
    ],
    [
      `${each(
        "[{{ m.role }}]{% if m.role == 'assistant' %}{% for i in range(9) %}{{ i }}{% if i == 2 %}!{% break %}" +
          '{% endif %},{% endfor %}{% break %}{% endif %};{% else %}none',
      )}.`,
      '[system];[user];[assistant]0,1,2!.',
    ],
    [each("({% if m.role == 'system' %}{% set x = 'X' %}{% endif %}{{ x }})"), '(X)()()()'],
    [`{% set x = 0 %}${each('{% set x = x + 1 %}{{ x }}')}{{ x }}`, '11110'],
    [
      each(
        "<{{ m.content.strip('\\n') }}|{{ m.content.lstrip('\\n') }}|{{ m.content.rstrip('\\nx') }}|{{ m.content.strip() }}>",
      ),
      '<S|S|S|S>< \n q | \n q \n| \n q |q><  a|  a\n|\n\n  a|a><xyx|xyx|xy|xyx>',
    ],
    [
      `{% for m in messages if m.role != 'user' %}{{ loop.index }}{{ m.role }}{% endfor %}{% for m in [] %}a{% else %}none{% endfor %}`,
      '1system2assistantnone',
    ],
  ])
    assert.equal(renderTemplate(template, { messages: given }), text, template);
  // each continue left the interpreter two levels deeper
  const many = Array.from({ length: 1000 }, () => ({ role: 'system', content: '' }));
  assert.equal(renderTemplate(each('.{% if true %}{% continue %}{% endif %}'), { messages: many }), '.'.repeat(1000));
});

const repeated = (n, body, end = '') =>
  `{% set ns = namespace(x='ab', l=[1]) %}{% for i in range(${n}) %}${body}{% endfor %}${end}`;
for (const [what, template, words] of [
  ['a range of a thousand million', '{{ range(1000000000) }}', /range\(0, 1000000000, 1\) has more than/],
  ['a range that does not advance', '{{ range(0, 1, 0) }}', /has more than/],
  [
    'loops in loops',
    '{% for i in range(99999) %}{% for j in range(99999) %}{{ i }}{% endfor %}{% endfor %}',
    /steps|ms/,
  ],
  ['a text that doubles', repeated(60, '{% set ns.x = ns.x ~ ns.x %}'), /characters and entries/],
  ['a list that doubles', repeated(60, '{% set ns.l = ns.l + ns.l %}'), /characters and entries/],
  ['a list that holds itself twice', repeated(60, '{% set ns.l = [ns.l, ns.l] %}', '{{ ns.l | tojson }}'), /entries/],
  ['a wide indentation', '{{ "a\nb" | indent(1000000000) }}', /Invalid|characters/],
  ['a macro that calls itself', '{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}', /nested|call stack/],
  ['parentheses in parentheses', `{{ ${'('.repeat(1e5)}1${')'.repeat(1e5)} }}`, /nested|call stack/],
])
  test(`${what} is refused`, (t) => {
    let now = 0;
    t.mock.method(performance, 'now', () => now++); // a node takes 1 ms, also on a busy machine
    assert.throws(() => renderTemplate(template, { messages }), words);
  });

// Lists were counted as steps, and the time was compared at every 256th step only, which such counts skip.
test('the time is compared at each node, and the entries of lists are steps', (t) => {
  let now = 0;
  let step = 1000;
  t.mock.method(performance, 'now', () => (now += step));
  assert.throws(() => renderTemplate('{{ 1 }}{{ 2 }}{{ 3 }}{{ 4 }}{{ 5 }}{{ 6 }}{{ 7 }}', { messages }), /5000 ms/);
  step = 0;
  const lists = '{% for i in range(99) %}{{ range(99999) | length }}{% endfor %}';
  assert.throws(() => renderTemplate(lists, { messages }), /5000000 steps/);
});
