"""Writes templates.json: generated chat templates with the texts that Jinja2 renders in the environment of transformers.

    python3 tests/golden/chat/make_templates.py [COUNT [SEED [FILE]]]   # jinja2 3.1.6, transformers 5.24.0

Half of the templates print one expression: a value with an operator, a filter, a test or a method. The others are
statements inside one another. Before them stand templates with the constructs of published ones. `text` is null where
Python raises. What depends on the run (addresses, random numbers, the time) is left out, and so is what
web/lib/text/template refuses by name.
"""
import json
import re
import signal
import sys
from copy import deepcopy
from pathlib import Path
from random import Random

import jinja2
import transformers
from transformers.utils.chat_template_utils import _cached_compile_jinja_template

# Values as templates write them.
TEXTS = [
    "''", "'a'", "'1'", "'-3'", "' 12 '", "'1.5e3'", "'0x1f'", "'HELLO wORLD'", "\"they're here\"", "'\\U0001f642 \\u00fc\\u00df'",
    "'a,b,,c'", "'  x  y '", "'l1\\nl2\\n\\nl3'", "'<b>\\'&\"'", "'\\u0130\\u01c6 \\u03a3\\u0391\\u03a3'", "'a\\tb'", "'%s-%d'",
    "'{}:{a}'", "'foo-bar (baz) qux'", "'\\x00\\x85\\u2028'", "'abcabc'", "'True'", "'www.example.com x@y.org'", "'x' * 90",
    "('<i>'|safe)", "('a\"'|escape)", "'a b c d e f g h i j k l m n o p'", "'\u0662\u0663'", "'\U0001d7ce'", "'e\\u0301'",
]
NUMBERS = [
    "0", "1", "-7", "3", "255", "10**20", "-(2**70)", "0.0", "1.0", "-0.0", "2.5", "-3.7", "1e-07", "1e16", "1.5e300", "0.1 + 0.2",
    "true", "false", "1_000", "0b101", "1000000.0", "123456789", "1e22", "3.14159"
]
LISTS = [
    "[]", "[1, 2, 3]", "['b', 'A', 'a', 'C']", "[1, '1', 1.0, true, none]", "[[1, 2], [3]]", "(1,)", "()", "('x', 2)", "range(4)",
    "range(5, 0, -2)", "[{'n': 'x', 'v': 2}, {'n': 'Y', 'v': 1}, {'n': 'x', 'v': 3}]", "[3, 1, 2]", "['a', 'b', 'c']", "[none]",
    "[0.5, 1, -2]", "[('k', 1), ('l', 2)]", "messages", "[zzz, 1]",
]
DICTS = ["{}", "{'a': 1, 'b': [none, true]}", "{1: 'x', 'B': 2, 'a': 0}", "messages[0]", "{'b': 2, 'a': 1, 'C': 3}", "{'items': 1}", "{(1, 2): 3}"]
OTHERS = ["none", "zzz", "messages[0].zzz", "messages[9]", "namespace(a=1)", "messages[2].tool_calls[0].function.arguments"]
VALUES = TEXTS + NUMBERS + LISTS + DICTS + OTHERS

FILTERS = [
    "abs", "attr('a')", "attr('items')", "batch(2)|list", "batch(2, 'x')|list", "capitalize", "center(9)", "center", "count", "d('D')",
    "default('D', true)", "default", "dictsort", "dictsort(true)", "dictsort(false, 'value')", "dictsort(reverse=true)", "e", "escape",
    "filesizeformat", "filesizeformat(true)", "first", "float", "float(2.5)", "forceescape", "format(1, 'x')", "format('x', 3)",
    "format(a=1)", "groupby('n')", "groupby('v')", "groupby('n', default='q')", "groupby('n', case_sensitive=true)", "indent",
    "indent(2, true)", "indent('>>', blank=true)", "indent(width=3, first=true, blank=true)", "int", "int(9)", "int(base=16)",
    "int(0, 8)", "items|list", "join", "join(', ')", "join('-', attribute='n')", "last", "length", "list", "lower",
    "map('upper')|list", "map('string')|join", "map(attribute='n')|list", "map(attribute='n', default='z')|list",
    "map('int', default=5)|list", "map(attribute='tool_calls.0')|list", "max", "min", "max(attribute='v')", "min(true)",
    "reject('none')|list", "reject('equalto', 'a')|list", "reject|list", "rejectattr('n')|list", "rejectattr('n', 'eq', 'x')|list",
    "replace('a', 'X')", "replace('a', 'X', 1)", "replace('', '-')", "reverse", "reverse|list", "round", "round(1)", "round(2, 'floor')",
    "round(-1)", "round(0, 'ceil')", "round(precision=3)", "safe", "select|list", "select('string')|list", "select('in', [1, 'a'])|list",
    "selectattr('v')|list", "selectattr('n', 'in', ['x'])|list", "selectattr('v', '>', 1)|list", "slice(2)|list", "slice(3, 'f')|list",
    "sort", "sort(true)", "sort(case_sensitive=true)", "sort(attribute='n')", "sort(attribute='n,v')", "sort(reverse=true, attribute='v')",
    "string", "striptags", "sum", "sum(attribute='v')", "sum(start=5)", "title", "tojson", "tojson(indent=2)", "tojson(ensure_ascii=true)",
    "tojson(sort_keys=true)", "tojson(separators=(',', ':'))", "tojson(indent='\\t')", "tojson(indent=0)", "trim", "trim('ax ')", "truncate(9)", "truncate(5, true)",
    "truncate(8, false, '..', 0)", "truncate(3, true, '')", "unique|list", "unique(true)|list", "unique(attribute='n')|list", "upper",
    "urlencode", "urlize", "urlize(8, true)", "urlize(target='_blank')", "wordcount", "wordwrap(7)", "wordwrap(5, false)", "wordwrap(4, wrapstring='|')",
    "xmlattr", "xmlattr(false)", "map('attr', 'n')|list", "map('default', 'q')|list", "nofilter", "first(1)", "upper(1)",
]
TESTS = [
    "odd", "even", "divisibleby 3", "divisibleby(2)", "defined", "undefined", "none", "boolean", "false", "true", "integer", "float", "lower",
    "upper", "string", "mapping", "number", "sequence", "iterable", "callable", "sameas none", "sameas(true)", "escaped", "in [1, 'a', none]",
    "in 'abc'", "== 1", "eq 'a'", "equalto('1')", "ne 1", "!= ''", "> 0", "gt(1)", "greaterthan 2", "ge 1", "lt 'b'", "lessthan 3", "le 2",
    "filter", "test", "notest",
]
METHODS = [
    "capitalize()", "casefold()", "center(7, '*')", "count('a')", "count('', 1)", "count(1)", "endswith('d')", "endswith(('x', 'a'))",
    "expandtabs(3)", "find('b')", "find('b', 2)", "find('', 99)", "rfind('a', 0, -1)", "format(1, a='z')", "format('x', a=2.5)", "index('a')", "index(1)",
    "index('zz')", "isalnum()", "isalpha()", "isascii()", "isdecimal()", "isdigit()", "isidentifier()", "islower()", "isnumeric()",
    "isprintable()", "isspace()", "istitle()", "isupper()", "join(['a', 'b'])", "join('xy')", "join([1])", "ljust(6, '.')", "ljust(6)", "lower()",
    "lstrip()", "lstrip('a ')", "partition('b')", "partition(',')", "removeprefix('a')", "removesuffix('c')", "replace('a', 'Q')",
    "replace('', '_', 3)", "replace('b', '', 1)", "rindex('b')", "rjust(8, '0')", "rpartition('a')", "rsplit()", "rsplit(',', 1)", "rsplit(none, 1)",
    "rstrip()", "rstrip('c')", "split()", "split(',')", "split('b', 1)", "split(maxsplit=2)", "split('')", "splitlines()", "splitlines(true)",
    "startswith('a')", "startswith('b', 1)", "strip()", "strip('a')", "swapcase()", "title()", "translate({97: 'A', 98: none})", "upper()",
    "zfill(8)", "append(1)", "pop()", "copy()", "get('a')", "get('zz')", "get('zz', 5)", "items()", "keys()", "values()", "items()|list",
    "keys()|list", "update({})", "fromkeys([1, 2])", "bit_length()", "is_integer()", "real", "imag", "numerator", "start", "stop", "a", "items",
    "name", "__class__", "_x", "n", "conjugate()", "nope()", "mro()",
]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
SLICES = ["[0]", "[-1]", "[5]", "['a']", "['items']", "[none]", "[zzz]", "[1.0]", "[true]", "[1:]", "[:-1]", "[::-1]", "[1:3]", "[-2:]", "[::2]", "[3:0:-1]", "[:0]", "[(1, 2)]", ".0", "[1, 2]", "[10:]", "[-9:2]"]
FORMATS = [
    "%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%x", "%#x", "%X", "%o", "%e", "%.2e", "%f", "%.0f", "%.3f", "%10.2f", "%-10.1f|", "%g", "%.3g", "%#g",
    "%G", "%s", "%10s", "%-10s|", "%.2s", "%r", "%a", "%c", "%%", "%i", "%u", "%5.1s", "%+.1e", "%q", "%", "%(a)s", "%s %s", "%*d",
]
SPECS = [
    "", "d", "5", "<5", ">8", "^9", "*^9", "05", "+d", " d", ",", "_", "x", "#x", "X", "b", "#b", "o", "e", ".2e", "f", ".1f", "10.2f", "g", ".3g", "%", ".1%",
    "n", "s", ".2", "10s", "<10.2", "=+8", "0=8", "c", ",.2f", "+,", "08,", "_x", "z.1f", "q", ".3",
]
ARGUMENTS = NUMBERS + TEXTS[:14] + ["none", "[1]", "(1, 2)", "zzz", "{'a': 1}"]


def expression(random: Random, depth: int) -> str:
    """A random expression."""
    value = random.choice(VALUES) if depth == 0 or random.random() < 0.25 else f"({expression(random, depth - 1)})"
    kind = random.randrange(12)
    if kind < 3:
        return f"{value}|{random.choice(FILTERS)}"
    if kind < 5:
        return f"{value}.{random.choice(METHODS)}" if value[0] in "'[({" or value[0].isalpha() else f"({value}).{random.choice(METHODS)}"
    if kind < 7:
        other = random.choice(VALUES) if random.random() < 0.7 else expression(random, 0)
        operator = random.choice(OPERATORS)
        if operator in ("**", "*"):  # nothing that takes long
            value, other = random.choice(VALUES), random.choice(["0", "1", "2", "3", "2.5", "true", "'a'", "zzz", "0.5"])
        return f"({value}) {operator} ({other})"
    if kind == 7:
        return f"({value}) is {random.choice(['', 'not '])}{random.choice(TESTS)}"
    if kind == 8:  # a slice of a constant that has none is undefined, which is Jinja2's folding of constants
        return f"({random.choice(TEXTS + LISTS)}){random.choice(SLICES)}"
    if kind == 9:
        return random.choice([
            f"'{random.choice(FORMATS)}' % ({random.choice(ARGUMENTS)})",
            f"'{random.choice(FORMATS)}'|format({random.choice(ARGUMENTS)})",
            "'{:" + random.choice(SPECS) + "}'.format(" + random.choice(ARGUMENTS) + ")",
        ])
    if kind == 10:
        return f"{value} if {random.choice(VALUES)}" + (f" else {random.choice(VALUES)}" if random.random() < 0.7 else "")
    return random.choice([
        f"-({value})", f"+({value})", f"not ({value})", f"[{value}, {random.choice(VALUES)}]", f"{{'k': {value}}}", f"({value},)",
        f"dict(a={value})", f"1 < ({value}) < 5", f"{value}|tojson", f"({value}) ~ 'x' ~ {random.choice(VALUES)}",
        f"{value}|string|length", f"range({value})", f"{value}|join('|')|upper", f"namespace(x={value}).x", f"({value})|list|length",
    ])


class Statements:
    """Random statements inside one another."""

    def __init__(self, random: Random):
        self.random = random
        self.names = ["x", "y", "ns", "m", "tools", "bos_token"]

    def tag(self, text: str) -> str:
        r = self.random
        return "{%" + r.choice(["", "", "", "-", "+"]) + r.choice([" ", " ", "  ", "\n"]) + text + r.choice([" ", " ", "\t"]) + r.choice(["", "", "-", ""]) + "%}"

    def text(self) -> str:
        r = self.random
        pieces = ["a", "B ", "\n", " ", "  \n  ", "é", "<|im|>", "\t", "\n\n", "}", "{", "%", "{{ '' }}", "{# c #}", "{#- c -#}", "\n  {# d #}\n", "\r\n", "#"]
        return "".join(r.choice(pieces) for _ in range(r.randrange(4)))

    def value(self) -> str:
        r = self.random
        simple = ["x", "y", "ns.v", "m", "m.role", "loop.index", "loop.first", "loop.last", "loop.length", "loop.depth", "loop.previtem", "loop.nextitem", "loop.revindex0",
                  "loop.cycle('o', 'e')", "loop.changed(x)", "tools", "bos_token", "1", "'s'", "[1, 2]", "messages[0].role", "caller()", "kwargs", "varargs", "f(1)", "f()", "f(y=2)",
                  "f(1, 2, 3)", "f(q=1)", "self.b1()", "j()", "cy.next()", "cy.current", "loop(x)", "loop.index0 ~ '/' ~ loop.revindex", "f", "f.name", "f.arguments", "undefined_name", "x.zzz"]
        return r.choice(simple) if r.random() < 0.8 else expression(r, 0)

    def printed(self) -> str:
        r = self.random
        return "{{" + r.choice(["", "", "-"]) + " " + self.value() + " " + r.choice(["", "", "-"]) + "}}"

    def block(self, depth: int) -> str:
        r = self.random
        return "".join(self.statement(depth) for _ in range(r.randrange(1, 4)))

    def statement(self, depth: int) -> str:
        r, tag = self.random, self.tag
        kind = r.randrange(20)
        if depth == 0 or kind < 5:
            return self.text() + self.printed() + self.text()
        body = lambda: self.text() + self.block(depth - 1)  # noqa: E731
        if kind < 8:
            iterable = r.choice(["[1, 2, 3]", "messages", "'ab'", "{'p': 1, 'q': 2}", "[]", "x", "zzz", "range(3)", "[[1, [2]], 3]", "messages|map(attribute='role')", "{'p': 1}.items()", "none"])
            target = r.choice(["x", "m", "x, y", "y"]) if "items" in iterable else r.choice(["x", "m", "y", "x"])
            condition = r.choice(["", "", "", " if x", " if loop.first", f" if {target.split(',')[0]} != 2", " if y is defined"])
            leave = r.choice(["", "", "", tag("if x == 2") + "L" + tag(r.choice(["break", "continue"])) + tag("endif")])
            other = r.choice(["", "", tag("else") + body()])
            return tag(f"for {target} in {iterable}{condition}{r.choice(['', '', ' recursive'])}") + leave + body() + other + tag("endfor")
        if kind < 11:
            middle = r.choice(["", tag(f"elif {self.value()}") + body(), tag("else") + body(), tag(f"elif {self.value()}") + body() + tag("else") + body()])
            return tag(f"if {self.value()}") + body() + middle + tag("endif")
        if kind < 13:
            target = r.choice(["x", "y", "ns.v", "tools", "bos_token", "x, y", "zz.a", "loop", "m", "ns.v, x"])
            value = "1, 2" if "," in target else self.value()
            return tag(f"set {target} = {value}")
        if kind == 13:
            return tag(f"set {r.choice(['x', 'y', 'ns.v'])}{r.choice(['', '', ' | upper', '|trim|length'])}") + body() + tag("endset")
        if kind == 14:
            signature = r.choice(["", "x", "x, y=3", "x=1, y=x", "m=y", "caller=none", "x, kwargs"])
            return tag(f"macro f({signature})") + body() + tag("endmacro")
        if kind == 15:
            return tag(r.choice(["call f(1)", "call(y) f()", "call f(x=2)", "call(x, y=1) g()"])) + body() + tag("endcall")
        if kind == 16:
            return tag(r.choice(["with x = 1", "with y = x, x = 5", "with", "with a, b = (1, 2)"])) + body() + tag("endwith")
        if kind == 17:
            return tag(r.choice(["filter upper", "filter trim | length", "filter replace('a', 'b')", "filter indent(2)", "generation", "autoescape true", "autoescape false"]) ).replace("\0", "") + body() + "\0"
        if kind == 18:
            return r.choice([tag("raw") + "{{ x }} {% if %}" + self.text() + tag("endraw"), tag("block b1") + body() + tag("endblock"),
                             tag("block b2 scoped") + body() + tag("endblock b2"), tag("print 1, x"), tag("break"), tag("include 'x'"), tag("do x")])
        return self.text() + r.choice(["{% set ns = namespace(v=0) %}", "{% set j = joiner() %}{{ j() }}", "{% set cy = cycler('p', 'q') %}", "{{ raise_exception('no') }}", "{%- set x = x -%}"])

    def template(self) -> str:
        r = self.random
        source = r.choice(["", "{% set ns = namespace(v=0) %}", "{% macro f(x, y=3) %}({{ x }}{{ y }}){% endmacro %}",
                           "{% macro f(x=1) %}{{ caller(2) if caller else x }}{{ varargs }}{{ kwargs }}{% endmacro %}{% set j = joiner('|') %}"]) + self.block(3)
        return close(source)


def close(source: str) -> str:
    """Puts the ends of filter, generation and autoescape blocks where \\0 stands."""
    out, stack = "", []
    for piece in re.split(r"(\{%[-+]?\s*(?:filter|generation|autoescape)\b|\0)", source):
        found = re.search(r"filter|generation|autoescape", piece) if piece.startswith("{%") else None
        if found:
            stack.append(found[0])
        out += "{% end" + stack.pop() + " %}" if piece == "\0" and stack else piece.replace("\0", "")
    return out


VARIABLES = {
    "messages": [
        {"role": "system", "content": "Be nice.\n"},
        {"role": "user", "content": "HELLO wORLD \U0001f642 they're <b>", "name": "A"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"a": 1, "b": None, "c": [True, "x", 1.5]}}}]},
        {"role": "tool", "content": [{"type": "text", "text": "p1"}, {"type": "image"}]},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string", "enum": ["p", "q"]}}}}}],
    "bos_token": "<s>",
    "add_generation_prompt": True,
}
# What differs from run to run, or is refused by name: addresses, sets, bytes, complex numbers, long pretty prints.
UNSTABLE = re.compile(r"object at 0x|<built-in|<function|<bound method|<class |<jinja2|<itertools|0x[0-9a-f]{6,}|iterator|_Namespace|\dj\b")


class Slow(Exception):
    pass


def rendered(source: str, variables=VARIABLES):
    """The text, or None where Python raises."""

    def stop(*_):
        raise Slow

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 2)
    try:
        return _cached_compile_jinja_template(source).render(**deepcopy(variables))  # |indent changes lists
    except Slow:
        raise
    except BaseException:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


# Templates in our own words with the constructs of published ones: parts of contents, reasoning that is cut off, types of
# arguments written by macros that call themselves, tools as TypeScript or as Python, strict orders of roles.
FAMILIES = {
    "parts": "{{ bos_token }}{%- if messages[0]['role'] == 'system' -%}{%- if messages[0]['content'] is string -%}{%- set first = messages[0]['content'] + '\n\n' -%}{%- else -%}{%- set first = messages[0]['content'][0]['text'] + '\n\n' -%}{%- endif -%}{%- set rest = messages[1:] -%}{%- else -%}{%- set first = '' -%}{%- set rest = messages -%}{%- endif -%}{%- for m in rest -%}{%- set role = 'model' if m['role'] == 'assistant' else m['role'] -%}{{ '<turn>' + role + '\n' + (first if loop.first else '') }}{%- if m['content'] is string -%}{{ m['content'] | trim }}{%- elif m['content'] is iterable -%}{%- for item in m['content'] -%}{%- if item['type'] == 'image' -%}{{ '<image>' }}{%- elif item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}{%- endfor -%}{%- else -%}{{ raise_exception('bad content') }}{%- endif -%}{{ '<end>\n' }}{%- endfor -%}{%- if add_generation_prompt -%}{{ '<turn>model\n' }}{%- endif -%}",
    "reasoning": "{%- set ns = namespace(last=messages|length - 1, tool=true) %}{%- for m in messages[::-1] %}{%- set i = (messages|length - 1) - loop.index0 %}{%- if ns.tool and m.role == 'user' and m.content is string and not (m.content.startswith('<r>') and m.content.endswith('</r>')) %}{%- set ns.tool = false %}{%- set ns.last = i %}{%- endif %}{%- endfor %}{%- for m in messages %}{%- if m.content is string %}{%- set content = m.content %}{%- else %}{%- set content = '' %}{%- endif %}{%- set thought = '' %}{%- if m.reasoning_content is string %}{%- set thought = m.reasoning_content %}{%- elif '</think>' in content %}{%- set thought = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}{%- set content = content.split('</think>')[-1].lstrip('\n') %}{%- endif %}{{- '<s>' + m.role + '\n' }}{%- if loop.index0 > ns.last and (loop.last or (not loop.last and thought)) %}{{- '<think>\n' + thought.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}{%- else %}{{- content }}{%- endif %}{%- if m.tool_calls %}{%- for c in m.tool_calls %}{%- if (loop.first and content) or (not loop.first) %}{{- '\n' }}{%- endif %}{%- if c.function %}{%- set c = c.function %}{%- endif %}{{- '<call>\n{\"name\": \"' + c.name + '\", \"arguments\": ' }}{%- if c.arguments is string %}{{- c.arguments }}{%- else %}{{- c.arguments | tojson }}{%- endif %}{{- '}\n</call>' }}{%- endfor %}{%- endif %}{{- '</s>\n' }}{%- endfor %}{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}",
    "typescript": "{%- macro type(p, nulls=[]) -%}{%- if p.type == 'array' -%}{%- if p['items'] -%}{{ type(p['items']) }}[]{%- else -%}any[]{%- endif -%}{%- elif p.type is defined and p.type is iterable and p.type is not string -%}{%- for t in p.type -%}{{- t -}}{%- if not loop.last %} | {% endif -%}{%- endfor -%}{%- elif p.enum -%}\"{{ p.enum | join('\" | \"') }}\"{%- elif p.type in ['integer', 'number'] -%}number{%- elif p.type == 'object' -%}{{ '{\n' }}{%- for name, q in p.properties.items() -%}{%- if q.description -%}{{ '// ' + q.description + '\n' }}{%- endif -%}{{- name }}{%- if name not in (p.required or []) -%}?{%- endif -%}{{ ': ' }}{{ type(q) }}{{ ',\n' }}{%- endfor -%}{{ '}' }}{%- else -%}{{ p.type | default('any', true) }}{%- endif -%}{%- endmacro -%}{%- if tools -%}{%- for tool in tools -%}{%- set f = tool.function -%}{{ 'type ' + f.name + ' = (_: ' }}{{ type(f.parameters) }}{{ ') => any;\n' }}{%- endfor -%}{%- endif -%}{% for m in messages -%}{{ loop.index0 ~ ':' ~ m.role ~ ' ' }}{% endfor %}",
    "braces": "{%- macro value(a) -%}{%- if a is string -%}{{ '<q>' + a + '<q>' }}{%- elif a is boolean -%}{{ 'true' if a else 'false' }}{%- elif a is mapping -%}{{ '{' }}{%- for k, v in a | dictsort -%}{%- if not loop.first %},{% endif -%}{{ k }}:{{ value(v) }}{%- endfor -%}{{ '}' }}{%- elif a is sequence -%}[{%- for v in a -%}{{ ', ' if not loop.first }}{{ value(v) }}{%- endfor -%}]{%- else -%}{{ a }}{%- endif -%}{%- endmacro -%}{%- for m in messages -%}{%- for c in m['tool_calls'] | default([]) -%}{{- '<f>call:' + c['function']['name'] -}}{%- if c['function']['arguments'] is mapping -%}{{ value(c['function']['arguments']) }}{%- else -%}{{ c['function']['arguments'] }}{%- endif -%}{{- '</f>' -}}{%- endfor -%}{{ m.content if m.content is string }}|{%- endfor -%}",
    "python": "{%- set ns = namespace(text='') -%}{%- for m in messages -%}{%- if m.tool_calls -%}{%- set ns.text = ns.text ~ '[' -%}{%- for c in m.tool_calls -%}{%- set f = c.function if 'function' in c else c -%}{%- set args = [] -%}{%- set ns.text = ns.text ~ f.name ~ '(' -%}{%- if f.arguments is mapping -%}{%- for k, v in f.arguments.items() -%}{%- set ns.text = ns.text ~ k ~ '=' ~ (v | tojson if v is string else v) ~ (', ' if not loop.last else '') -%}{%- endfor -%}{%- endif -%}{%- set ns.text = ns.text ~ ')' ~ ('' if loop.last else ', ') -%}{%- endfor -%}{%- set ns.text = ns.text ~ ']' -%}{%- endif -%}{%- endfor -%}{{ ns.text }}{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | select('string') | join(' / ') }}",
    "order": "{{ bos_token }}{% set ns = namespace(i=0) %}{% for m in messages %}{% if m['role'] in ['user', 'assistant'] and not m.tool_calls %}{% if (m['role'] == 'user') != (ns.i % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}{% set ns.i = ns.i + 1 %}{% endif %}{% if m['role'] == 'user' %}{{ '[I] ' + m['content'] + ' [/I]' }}{% elif m['role'] == 'assistant' %}{% if m['content'] is not none %}{{ ' ' + m['content'] + eos_token }}{% endif %}{% elif m['role'] == 'system' %}{{ '<<S>>' ~ m.content ~ '<</S>>' }}{% endif %}{% endfor %}",
    "documents": "{% if documents %}{% for d in documents %}\nDocument: {{ loop.index0 }}\n{% for key, value in d.items() %}{{ key|title }}: {{ value|trim }}\n{% endfor %}{% endfor %}{% endif %}{%- if safety|upper == 'NONE' %}n{% else %}s{% endif %}{{ messages|length }}{{ '%-6s|' % messages[0].role }}{% for m in messages if m.role == 'tool' %}{{ m.name | default('?') }}={{ m.content }}{% else %}no tools{% endfor %}",
    "generation": "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% if m.tool_calls %}{{ m.tool_calls | tojson(indent=2) }}{% endif %}{{ eos_token }}{% endgeneration %}{% else %}\n    <{{ m.role | capitalize }}>{{ m.content }}\n{% endif %}\n{% endfor %}",
    "lines": "{% for m in messages %}\n  {% if m.role == 'user' %}\n    U: {{ m.content }}\n  {%- elif m.role == 'tool' +%}\n    T\n  {% else %}\n\tA: {{- m.content -}}\n  {% endif %}\n{% endfor %}\n\nend\n",
}
WEATHER = {"name": "weather", "description": "The weather of a town, \"now\" & <later>", "parameters": {"type": "object", "properties": {"town": {"type": "string", "description": "A town"}, "days": {"type": "integer"}, "unit": {"type": "string", "enum": ["c", "f"]}, "more": {"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "array", "items": {"type": "number"}}}}}, "required": ["town"]}}
CALL = {"id": "abcdef123", "type": "function", "function": {"name": "weather", "arguments": {"town": "\u00dcr\u00fcmqi", "days": 2, "x": None, "y": [1.5, True, "a'b"], "z": {"k": 1e-07}}}}
USER, ANSWER, SYSTEM = {"role": "user", "content": " Will it rain? \n"}, {"role": "assistant", "content": "Yes. \U0001f642"}, {"role": "system", "content": "Be brief."}
RESULT = {"role": "tool", "name": "weather", "tool_call_id": "abcdef123", "content": '{"rain": true}'}
CONVERSATIONS = [
    [USER],
    [SYSTEM, USER],
    [{"role": "system", "content": ""}, USER, ANSWER, USER],
    [USER, {"role": "assistant", "content": "", "tool_calls": [CALL]}, RESULT],
    [SYSTEM, USER, {"role": "assistant", "content": None, "tool_calls": [CALL, CALL]}, RESULT, RESULT, ANSWER, USER],
    [USER, {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "weather", "arguments": '{"town": "Ulm"}'}}]}, RESULT],
    [{"role": "system", "content": [{"type": "text", "text": "S"}]}, {"role": "user", "content": [{"type": "text", "text": " a"}, {"type": "image"}, {"type": "text", "text": "b "}]}],
    [USER, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes"}, USER, {"role": "assistant", "content": "No", "reasoning_content": "because\n"}],
    [USER, USER],
    [RESULT],
]


def families():
    for template in FAMILIES.values():
        for i, messages in enumerate(CONVERSATIONS):
            own = {"messages": messages, "tools": [{"type": "function", "function": WEATHER}] if i % 2 else None, "enable_thinking": i % 3 == 0}
            own |= {"documents": [{"title": "t", "text": " x "}] if i == 4 else None, "eos_token": "</s>"}
            yield {"template": template, "own": own, "text": rendered(template, VARIABLES | own)}


def cases(count: int, seed: int):
    random = Random(seed)
    seen = set()
    while len(seen) < count:
        if random.random() < 0.5:
            source = "{{ " + expression(random, random.randrange(3)) + " }}"
            if random.random() < 0.3:
                source = source.replace("{{ ", "{{ [").replace(" }}", "] }}")
        else:
            source = Statements(random).template()
        if source in seen or len(source) > 1500:
            continue
        try:
            text = rendered(source)
        except Slow:
            continue
        if text is None and random.random() < 0.85:
            continue
        if text is not None and (UNSTABLE.search(text) or len(text) > 4000):
            continue
        seen.add(source)
        yield {"template": source, "text": text}


if __name__ == "__main__":
    count, seed = (int(one) for one in (sys.argv[1:3] + ["1500", "1"][len(sys.argv) - 1 :])[:2])
    file = Path(sys.argv[3]) if len(sys.argv) > 3 else Path(__file__).parent / "templates.json"
    versions = {"jinja2": jinja2.__version__, "transformers": transformers.__version__, "python": sys.version.split()[0]}
    rows = ",\n".join(json.dumps(one, ensure_ascii=True) for one in [*families(), *cases(count, seed)])
    file.write_text(f'{{"versions": {json.dumps(versions)},\n"variables": {json.dumps(VARIABLES)},\n"cases": [\n{rows}\n]}}\n')
