"""Trains SentencePiece models with each rule of normalisation and of each kind, and writes what they encode texts to.

    python3 tests/golden/formats/make_sentencepiece.py      # sentencepiece 0.1.97 (Debian 12: python3-sentencepiece)

writes sentencepiece/models.json.br (with Node, which has Brotli): the version, the texts, the tables of characters by rule, and of each model its bytes
without such a table, the name of its table, and the ids of each text. A model is its bytes with the table's after them:
repeated messages of protocol buffers are merged.
"""
import base64
import io
import json
import os
import subprocess
import tempfile

import sentencepiece

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '../../..')
STRINGS = json.load(open(os.path.join(HERE, 'strings.json')))
HARD = [
    'Hello  world ', ' two  spaces\tand\na line ', 'ﬁ ﬂ ½ ² ① Ⅷ ㎞ ﷺ', 'ÅÅ\u212b e\u0301 é E\u0301\u0327', 'ΟΔΥΣΣΕΥΣ ΣΟΣ ß ẞ İ',
    '１２３ ＡＢＣ ｶﾞ', '中文。日本語、한국어 한글', '\u200b\u200c\u200d\ufeff \u00ad\u0085\u00a0\u3000x', 'a\u0301\u0327\u0302',
    '\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd', '▁a▁▁b ▁', 'foo bar foobar xfoo <sep> <sep><sep>', '\x01\x7f\x80 b',
    'aaaaaaaaaaaaaaaaaaaaaaaaab', 'the the THE The', 'ab abc abcd bcd cd', '', ' ', '   ', '...', 'ａｂ', 'straße STRASSE', '\u0915\u094d\u0937',
    'q1 q2', 'Once upon a time, there was a little girl.', 'ﬃx', '\ufffd', 'x' * 300, 'ab' * 200,
]
SPECIAL = ('<unk>', '<s>', '</s>', '<pad>')
TEXTS = [t for t in dict.fromkeys(STRINGS + HARD) if not any(s in t for s in SPECIAL) and not any('\ud800' <= c < '\ue000' for c in t)]
# user-made rules: code points of the source, a tab, code points of the target
RULES = '61 62\t58\n63\t20\n41\t61\nE9\t65 301\n71\t\n64 64\t64\n'

MODELS = {
    'unigram nmt_nfkc': dict(model_type='unigram', normalization_rule_name='nmt_nfkc'),
    'bpe nfkc': dict(model_type='bpe', normalization_rule_name='nfkc'),
    'unigram nmt_nfkc_cf with bytes': dict(model_type='unigram', normalization_rule_name='nmt_nfkc_cf', byte_fallback=True, vocab_size=560),
    'bpe nfkc_cf with bytes and own pieces': dict(
        model_type='bpe', normalization_rule_name='nfkc_cf', byte_fallback=True, vocab_size=560, user_defined_symbols=['<sep>', 'foo', 'foo bar', 'Ⅷ']),
    'char nmt_nfkc': dict(model_type='char', normalization_rule_name='nmt_nfkc'),
    'char identity with bytes and own pieces': dict(
        model_type='char', normalization_rule_name='identity', byte_fallback=True, vocab_size=560, user_defined_symbols=['<sep>', 'foo bar']),
    'word nmt_nfkc': dict(model_type='word', normalization_rule_name='nmt_nfkc'),
    'word nfkc_cf without a space before': dict(model_type='word', normalization_rule_name='nfkc_cf', add_dummy_prefix=False),
    'unigram with own rules': dict(model_type='unigram', normalization_rule_tsv=True),
    'bpe with own rules and all spaces': dict(model_type='bpe', normalization_rule_tsv=True, remove_extra_whitespaces=False),
    'bpe identity with bytes, all spaces': dict(
        model_type='bpe', normalization_rule_name='identity', byte_fallback=True, vocab_size=560, remove_extra_whitespaces=False),
    'unigram identity with bytes and own pieces, all spaces': dict(
        model_type='unigram', normalization_rule_name='identity', byte_fallback=True, vocab_size=560, remove_extra_whitespaces=False,
        add_dummy_prefix=False, user_defined_symbols=['<sep>', 'foo', '  ', 'aa']),
    'unigram with spaces after words': dict(model_type='unigram', normalization_rule_name='nmt_nfkc', treat_whitespace_as_suffix=True),
    'bpe with unused pieces': dict(model_type='bpe', normalization_rule_name='nmt_nfkc', unused=40),
    'unigram with unused pieces': dict(model_type='unigram', normalization_rule_name='nmt_nfkc', unused=40),
}


def varint(n):
    out = b''
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def fields(data):
    """(number, wire type, value or bytes) of each field of a message."""
    at = 0

    def number():
        nonlocal at
        n = shift = 0
        while True:
            byte = data[at]
            at += 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n

    while at < len(data):
        tag = number()
        wire = tag & 7
        if wire == 0:
            yield tag >> 3, wire, number()
        else:
            size = number() if wire == 2 else {1: 8, 5: 4}[wire]
            yield tag >> 3, wire, data[at:at + size]
            at += size


def message(parts):
    out = b''
    for field, wire, value in parts:
        out += varint(field << 3 | wire)
        out += varint(value) if wire == 0 else (varint(len(value)) if wire == 2 else b'') + value
    return out


def changed(data, unused):
    """A model whose pieces from the 60th on, every third one, are unused, as many as asked for."""
    parts, n = [], 0
    for field, wire, value in fields(data):
        if field == 1:
            n += 1
            if 60 <= n < 60 + 3 * unused and n % 3 == 0:
                value += b'\x18\x05'
        parts.append((field, wire, value))
    return message(parts)


def without_table(data):
    """A model without its table of characters, and this table."""
    parts, table = [], b''
    for field, wire, value in fields(data):
        if field == 3:
            inside = list(fields(value))
            table = b''.join(v for f, _, v in inside if f == 2)
            value = message([part for part in inside if part[0] != 2])
        parts.append((field, wire, value))
    return message(parts), table


def train(options, corpus, folder):
    options = dict(vocab_size=300, hard_vocab_limit=False, character_coverage=0.98, minloglevel=9, num_threads=1) | options
    options.pop('unused', None)
    if options.pop('normalization_rule_tsv', None):
        options['normalization_rule_tsv'] = os.path.join(folder, 'rules.tsv')
        open(options['normalization_rule_tsv'], 'w').write(RULES)
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus), model_writer=out, **options)
    return out.getvalue()


def main():
    corpus = open(os.path.join(ROOT, 'tests/golden/text/stories.txt')).read().split('\n') * 2 + TEXTS
    tables, models = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name, options in MODELS.items():
            data = train(options, [line for line in corpus if line.strip()], folder)
            if 'unused' in options:
                data = changed(data, options['unused'])
            processor = sentencepiece.SentencePieceProcessor(model_proto=data)
            ids = [processor.encode(text) for text in TEXTS]
            data, table = without_table(data)
            rule = options.get('normalization_rule_name', 'own')
            tables[rule] = base64.b64encode(table).decode()
            models.append(dict(name=name, bytes=base64.b64encode(data).decode(), table=rule, ids=ids))
            print(f'{name}: {len(processor)} pieces, {len(data)} bytes, table {len(table)}')
    text = json.dumps(dict(sentencepiece=sentencepiece.__version__, texts=TEXTS, tables=tables, models=models), ensure_ascii=False)
    compress = "process.stdout.write(zlib.brotliCompressSync(fs.readFileSync(0)))"
    with open(os.path.join(HERE, 'sentencepiece/models.json.br'), 'wb') as file:
        subprocess.run(['node', '-e', compress], input=text.encode(), stdout=file, check=True)


main()
