"""Makes tests/golden/text/side_files.json: folders of tokenizer files without a tokenizer.json, or with tokens beside one, and
what transformers encodes and decodes with them.

    python3 tests/golden/make_side_files.py      # transformers, tokenizers, sentencepiece, protobuf
"""
import base64
import io
import json
import os
import tempfile

import sentencepiece
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
LINES = ["the cat sat on the mat and the dog sat on the log", "once upon a time there was a little girl", "she said hello to the world 123 times", "it's über 東京, isn't it?"] * 40
TEXTS = ["the cat", "  two  spaces ", "hello\nworld", "é🙂", "<s>the</s>", "", "it's 1234", "a<|endoftext|> b", "<x> y <y> z", "über 東京", "the\tcat", "<pad><mask>the"]


def pieces(**more):
    out = io.BytesIO()
    rest = dict(character_coverage=1.0, byte_fallback=True, unk_id=0, bos_id=1, eos_id=2, pad_id=-1, minloglevel=2)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(LINES), model_writer=out, vocab_size=340, **{**rest, **more})
    return "base64:" + base64.b64encode(out.getvalue()).decode()


def byte_level():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    t.train_from_iterator(LINES, trainers.BpeTrainer(vocab_size=330, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|endoftext|>"]))
    model = json.loads(t.to_str())["model"]
    merges = "#version: 0.2\n" + "\n".join(" ".join(pair) for pair in model["merges"]) + "\n"
    return {"vocab.json": json.dumps(model["vocab"], ensure_ascii=False), "merges.txt": merges}, t.to_str()


def main():
    identity = pieces(model_type="bpe", normalization_rule_name="identity", remove_extra_whitespaces=False, user_defined_symbols=["<x>"])
    plain, whole = byte_level()
    flags = dict(lstrip=False, rstrip=False, normalized=False, single_word=False, special=True)
    spaces = dict(content="</s>", lstrip=True, rstrip=False, normalized=True, single_word=False)
    model = {"tokenizer.model": identity}
    folders = {
        "gpt2": (plain, None, "gpt2"),
        "gpt2 with a prefix": (plain, dict(tokenizer_class="GPT2Tokenizer", add_prefix_space=True), "gpt2"),
        "gpt2, special_tokens_map": (dict(plain, **{"special_tokens_map.json": json.dumps(dict(bos_token="<s>", eos_token=spaces))}), dict(tokenizer_class="GPT2Tokenizer", add_bos_token=True), "gpt2"),
        "gpt2, both ends": (plain, dict(tokenizer_class="GPT2TokenizerFast", bos_token="<s>", eos_token="</s>", add_bos_token=True, add_eos_token=True), "gpt2"),
        "gpt2, added_tokens.json": (dict(plain, **{"added_tokens.json": json.dumps({"<x>": 331, "<s>": 330})}), dict(tokenizer_class="GPT2Tokenizer", pad_token="<pad>"), "gpt2"),
        "gpt2, added_tokens_decoder": (plain, dict(tokenizer_class="GPT2Tokenizer", added_tokens_decoder={"330": dict(flags, content="<x>"), "331": dict(flags, content="<y>", rstrip=True, special=False)}, additional_special_tokens=["<s>"]), "gpt2"),
        "gpt_neo": (plain, None, "gpt_neo"),
        "roberta": (plain, dict(tokenizer_class="RobertaTokenizer"), "roberta"),
        "qwen2": (plain, dict(tokenizer_class="Qwen2Tokenizer"), "qwen2"),
        "llama": (model, dict(tokenizer_class="LlamaTokenizer"), "llama"),
        "llama, bos": (model, dict(tokenizer_class="LlamaTokenizer", add_bos_token=True, add_eos_token=False), "llama"),
        "llama, eos": (model, dict(tokenizer_class="LlamaTokenizerFast", add_eos_token=True), "llama"),
        "llama, legacy": (model, dict(tokenizer_class="LlamaTokenizer", legacy=True), "llama"),
        "llama, no prefix": (model, dict(tokenizer_class="LlamaTokenizer", add_prefix_space=False), "llama"),
        "llama, added": (dict(model, **{"added_tokens.json": json.dumps({"<pad>": 340, "<y>": 341})}), dict(tokenizer_class="LlamaTokenizer", pad_token="<pad>"), "llama"),
        "gemma": (model, dict(tokenizer_class="GemmaTokenizer", add_bos_token=True), "gemma"),
        "tokenizer.json": ({"tokenizer.json": whole}, dict(tokenizer_class="PreTrainedTokenizerFast", add_bos_token=True, bos_token="<s>", added_tokens_decoder={"0": dict(flags, content="<|endoftext|>"), "330": dict(flags, content="<x>"), "331": dict(flags, content="<y>", rstrip=True)}), "gpt2"),
        "tokenizer.json and a prefix": ({"tokenizer.json": whole}, dict(tokenizer_class="GPT2TokenizerFast", add_prefix_space=True), "gpt2"),
        "tokenizer.json with a prefix": ({"tokenizer.json": whole.replace('"add_prefix_space":false', '"add_prefix_space":true')}, dict(tokenizer_class="GPTNeoXTokenizer"), "gpt_neox"),
    }
    made = {}
    for name, (files, config, kind) in folders.items():
        with tempfile.TemporaryDirectory() as folder:
            files = dict(files, **({"tokenizer_config.json": json.dumps(config)} if config else {}))
            for file, text in files.items():
                with open(os.path.join(folder, file), "wb") as f:
                    f.write(base64.b64decode(text[7:]) if text.startswith("base64:") else text.encode())
            with open(os.path.join(folder, "config.json"), "w") as f:
                json.dump(dict(model_type=kind), f)
            t = AutoTokenizer.from_pretrained(folder)
            rows = [dict(text=x, ids=t(x)["input_ids"], plain=(ids := t(x, add_special_tokens=False)["input_ids"]), decoded=t.decode(ids)) for x in TEXTS]
            made[name] = dict(files=list(files), config=config, kind=kind, texts=rows)
    shared = {"tokenizer.model": identity, **plain, "tokenizer.json": whole}
    other = {name: {f: t for f, t in files.items() if shared.get(f) != t} for name, (files, _, _) in folders.items()}
    text = dict(transformers=transformers.__version__, shared=shared, own=other, folders=made)
    with open(os.path.join(HERE, "text", "side_files.json"), "w") as f:
        json.dump(text, f, ensure_ascii=False)
        f.write("\n")


if __name__ == "__main__":
    main()
