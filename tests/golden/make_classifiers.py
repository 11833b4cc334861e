"""Writes classifiers.bin: tiny models with heads of classification as transformers saves them, with the logits of its own
classes; and classifiers/: four of them with a tokenizer, with the results of its pipelines and of CrossEncoder of
sentence-transformers.

    python3 make_classifiers.py [NAME...]     # names: only these, printed and not written

The format of classifiers.bin is that of families.bin, with the logits [rows, labels] of each run: of a text one row.
"""
import json, os, re, shutil, struct, sys, tempfile
import numpy as np
import torch
import transformers
from make_families import FAMILIES, BERT, FOUR, GPT, GROUPED, HYBRID, SEQ2SEQ, SIZES, floats, on_grid, packed, version

LABELS = lambda n: dict(num_labels=n)
NAMED = lambda *names: dict(id2label=dict(enumerate(names)), label2id={name: i for i, name in enumerate(names)})
ROBERTA = dict(BERT, pad_token_id=1, bos_token_id=0, eos_token_id=2, max_position_embeddings=66)
DISTIL = dict(vocab_size=61, dim=24, hidden_dim=32, n_layers=2, n_heads=4, max_position_embeddings=64, pad_token_id=0)
MODERN = dict(GROUPED, global_attn_every_n_layers=3, local_attention=8, cls_token_id=1, sep_token_id=2)
BERTS = {
    'bert': ('Bert', BERT), 'roberta': ('Roberta', ROBERTA), 'distilbert': ('DistilBert', DISTIL),
    'xlm-roberta': ('XLMRoberta', ROBERTA), 'camembert': ('Camembert', ROBERTA), 'mpnet': ('MPNet', {k: v for k, v in ROBERTA.items() if k != 'type_vocab_size'}),
    'electra': ('Electra', dict(BERT, embedding_size=24)), 'ernie': ('Ernie', BERT),
    'roformer': ('RoFormer', dict(BERT, hidden_act='relu')), 'megatron-bert': ('MegatronBert', BERT),
    'xlm-roberta-xl': ('XLMRobertaXL', ROBERTA), 'nomic-bert': ('NomicBert', BERT),
    'jina-v3': ('JinaEmbeddingsV3', dict(BERT, type_vocab_size=1, pad_token_id=1)),
    'eurobert': ('EuroBert', dict(GROUPED, head_dim=6, classifier_pooling='bos')),
}
DECODERS = {
    'llama': ('Llama', GROUPED), 'qwen2': ('Qwen2', GROUPED), 'qwen3': ('Qwen3', dict(GROUPED, head_dim=6)),
    'mistral': ('Mistral', dict(GROUPED, sliding_window=6)), 'gemma': ('Gemma', dict(GROUPED, head_dim=6)),
    'gemma2': ('Gemma2', dict(FOUR, head_dim=6, query_pre_attn_scalar=6, final_logit_softcapping=2.0)),
    'phi3': ('Phi3', dict(GROUPED)), 'stablelm': ('StableLm', dict(GROUPED, hidden_size=32)),
    'gpt2': ('GPT2', GPT), 'gpt_neo': ('GPTNeo', dict(vocab_size=61, hidden_size=24, num_layers=2, num_heads=4, intermediate_size=32, max_position_embeddings=64, attention_types=[[['global', 'local'], 1]], window_size=8, pad_token_id=0)),
    'gpt_neox': ('GPTNeoX', dict(SIZES, hidden_size=32)), 'bloom': ('Bloom', dict(vocab_size=61, hidden_size=24, n_layer=2, n_head=4, pad_token_id=0)),
    'opt': ('OPT', dict({k: v for k, v in SIZES.items() if k != 'intermediate_size'}, ffn_dim=32, word_embed_proj_dim=20, do_layer_norm_before=True)),
}
CASES = {}
for name, (config, keys) in BERTS.items():
    CASES[f'{name}-text'] = (f'{config}ForSequenceClassification', config, dict(keys, **LABELS(3)))
    CASES[f'{name}-tokens'] = (f'{config}ForTokenClassification', config, dict(keys, **LABELS(5)))
for name, (config, keys) in DECODERS.items():
    CASES[f'{name}-text'] = (f'{config}ForSequenceClassification', config, dict(keys, **LABELS(3)))
    if name in ('llama', 'qwen2', 'gemma', 'gpt2', 'gpt_neox', 'bloom'):
        CASES[f'{name}-tokens'] = (f'{config}ForTokenClassification', config, dict(keys, **LABELS(4)))
for name, config in {'bart': 'Bart', 'mbart': 'MBart', 'plbart': 'PLBart'}.items():
    CASES[f'{name}-text'] = (f'{config}ForSequenceClassification', config, dict(SEQ2SEQ, **LABELS(3)))
CASES.update({
    'bert-two-types': ('BertForSequenceClassification', 'Bert', dict(BERT, **LABELS(2))),
    'bert-one': ('BertForSequenceClassification', 'Bert', dict(BERT, **LABELS(1))),
    'bert-multi': ('BertForSequenceClassification', 'Bert', dict(BERT, problem_type='multi_label_classification', **NAMED('a', 'b', 'c', 'd'))),
    'roberta-regression': ('RobertaForSequenceClassification', 'Roberta', dict(ROBERTA, problem_type='regression', **LABELS(1))),
    'eurobert-mean': ('EuroBertForSequenceClassification', 'EuroBert', dict(GROUPED, head_dim=6, classifier_pooling='mean', **LABELS(2))),
    'llama-no-padding': ('LlamaForSequenceClassification', 'Llama', dict({k: v for k, v in GROUPED.items() if k != 'pad_token_id'}, **LABELS(2))),
})
"""Of ModernBERT, which has a norm before its classifiers: run with its name where the family is supported."""
CASES.update({
    'modernbert-text': ('ModernBertForSequenceClassification', 'ModernBert', dict(MODERN, classifier_pooling='cls', **LABELS(3))),
    'modernbert-mean': ('ModernBertForSequenceClassification', 'ModernBert', dict(MODERN, classifier_pooling='mean', classifier_bias=True, norm_bias=True, **LABELS(2))),
    'modernbert-tokens': ('ModernBertForTokenClassification', 'ModernBert', dict(MODERN, **LABELS(4))),
})


CASES.update({
    'roberta-prelayernorm-text': ('RobertaPreLayerNormForSequenceClassification', 'RobertaPreLayerNorm', dict(ROBERTA, **LABELS(3))),
    'data2vec-text-tokens': ('Data2VecTextForTokenClassification', 'Data2VecText', dict(ROBERTA, **LABELS(3))),
    'big_bird-text': ('BigBirdForSequenceClassification', 'BigBird', dict(BERT, attention_type='original_full', **LABELS(3))),
    'rembert-text': ('RemBertForSequenceClassification', 'RemBert', dict(BERT, input_embedding_size=16, output_embedding_size=16, **LABELS(3))),
})


def sharp(model, seed):
    """Weights of heads with larger numbers, so that a wrong state or activation changes the logits by much."""
    on_grid(model, seed)
    generator = torch.Generator().manual_seed(1000 + seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if re.search(r'classif|^score|pooler|^head\.dense|^dense', name):
                p.copy_((torch.randn(p.shape, generator=generator) * 40).round().clamp(-127, 127) / 64)


def outputs(model, name):
    generator = torch.Generator().manual_seed(len(name))
    draw = lambda n: torch.randint(3, 61, (n,), generator=generator).tolist()
    config = model.config
    of_text = 'Sequence' in type(model).__name__
    pad = getattr(config, 'pad_token_id', None)
    runs = []
    for n in (14, 5):
        ids = draw(n)
        if config.is_encoder_decoder:
            ids = ids[: n // 2] + [config.eos_token_id] + ids[n // 2 + 1:] + [config.eos_token_id]
            if n == 14: ids += draw(2)
        runs.append({'ids': ids})
    kinds = 'ForSequenceClassification' in type(model).__name__
    if kinds and type(model).__name__.replace('ForSequenceClassification', '') in [config for config, _ in DECODERS.values()] and pad is not None:
        runs.append({'ids': draw(6) + [pad] * 3})
        runs.append({'ids': [pad] * 2 + draw(4)})
        runs.append({'ids': draw(3) + [pad] + draw(3) + [pad]})
    if getattr(config, 'type_vocab_size', 0) == 2:
        runs.append({'ids': draw(9), 'types': [0] * 5 + [1] * 4})
    made = []
    for run in runs:
        inputs = {'input_ids': torch.tensor([run['ids']])}
        if 'types' in run:
            inputs['token_type_ids'] = torch.tensor([run['types']])
        with torch.no_grad():
            values = model(**inputs).logits.float()
        values = values if of_text else values[0]
        run['out'] = ['logits', list(values.shape)]
        made.append((run, values.contiguous()))
    return made


# ---- with a tokenizer: folders, and what the libraries' own pipelines say

WORDS = ('[PAD] [UNK] [CLS] [SEP] [MASK] a the was is not in of and this text about film play great awful dull fine '
         'very sports science food city ada lovelace lived london paris met charles bab ##bage ##s ##ing ##ed star walk '
         'who wrote first program she he it night day , . ?').split()


def tokenizer_in(folder):
    made = transformers.BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)}, model_max_length=48)
    made.save_pretrained(folder)
    return made


SMALL = dict(vocab_size=len(WORDS), hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
             max_position_embeddings=48, type_vocab_size=2, pad_token_id=0)
DISTIL_SMALL = dict(vocab_size=len(WORDS), dim=16, hidden_dim=24, n_layers=2, n_heads=2, max_position_embeddings=48, pad_token_id=0)
SENTENCES = ['The film was great.', 'this play was awful and dull, not fine', 'Ada Lovelace met Charles Babbage in London.',
             'she walked in Paris']
PAIRS = [['who wrote the first program?', 'Ada Lovelace wrote the first program.'],
         ['who wrote the first program?', 'the film was very dull'],
         ['the star lived in the city', 'it was night. ' * 30]]


def entity(e):
    return {'label': e['entity_group'], 'score': float(e['score']), 'text': e['word']}


def folders():
    out = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'classifiers')
    made = {
        'sentiment': ('DistilBertForSequenceClassification', 'DistilBert', dict(DISTIL_SMALL, **NAMED('NEGATIVE', 'POSITIVE'))),
        'ner': ('BertForTokenClassification', 'Bert', dict(SMALL, **NAMED('O', 'B-PER', 'I-PER', 'B-LOC', 'I-LOC'))),
        'reranker': ('BertForSequenceClassification', 'Bert', dict(SMALL, **LABELS(1))),
        'nli': ('BertForSequenceClassification', 'Bert', dict(SMALL, **NAMED('contradiction', 'neutral', 'entailment'))),
    }
    for seed, (name, (cls, config, keys)) in enumerate(made.items()):
        folder = os.path.join(out, name)
        shutil.rmtree(folder, ignore_errors=True)
        model = getattr(transformers, cls)(getattr(transformers, config + 'Config')(**keys)).eval()
        sharp(model, 100 + seed)
        model.save_pretrained(folder)
        tokenizer = tokenizer_in(folder)
        case = {'transformers': transformers.__version__, 'torch': torch.__version__}
        if name == 'ner':
            run = transformers.pipeline('token-classification', model=folder, tokenizer=tokenizer, aggregation_strategy='first')
            case['texts'] = [{'text': s, 'entities': [entity(e) for e in run(s)]} for s in SENTENCES]
        elif name == 'reranker':
            import sentence_transformers
            case['sentence_transformers'] = sentence_transformers.__version__
            encoder = sentence_transformers.CrossEncoder(folder, device='cpu')
            case['sigmoid'] = [float(x) for x in encoder.predict(PAIRS)]
            case['identity'] = [float(x) for x in encoder.predict(PAIRS, activation_fn=torch.nn.Identity())]
            case['pairs'] = PAIRS
            encoder.activation_fn = torch.nn.Identity()
            with tempfile.TemporaryDirectory() as saved:
                encoder.save_pretrained(saved)
                case['settings'] = json.load(open(os.path.join(saved, 'config_sentence_transformers.json')))
                case['config'] = json.load(open(os.path.join(saved, 'config.json')))
        elif name == 'nli':
            run = transformers.pipeline('zero-shot-classification', model=folder, tokenizer=tokenizer)
            case['zeroShot'] = [dict(run(s, ['sports', 'science', 'food'], hypothesis_template='this text is about {}.')) for s in SENTENCES[:2]]
        else:
            run = transformers.pipeline('text-classification', model=folder, tokenizer=tokenizer, top_k=None)
            case['texts'] = [{'text': s, 'scores': run(s)} for s in SENTENCES]
        with open(os.path.join(folder, 'case.json'), 'w') as file:
            json.dump(case, file, indent=1)
            file.write('\n')


def main(names):
    made = []
    for i, name in enumerate(CASES):
        if names and name not in names:
            continue
        cls, config, keys = CASES[name]
        try:
            made.append(packed(name, cls, config, keys, i, outputs, sharp))
        except Exception as error:
            print(name, type(error).__name__, str(error)[:300])
            if os.environ.get('TRACE'): raise
    about = {**version(), 'models': [entry for entry, _ in made]}
    text = json.dumps(about).encode()
    path = os.environ.get('OUT') or os.path.join(os.path.dirname(os.path.abspath(__file__)), 'classifiers.bin')
    with open(path, 'wb') as file:
        file.write(struct.pack('<I', len(text)) + text + b''.join(body for _, body in made))
    print(len(made), 'models')
    if not names:
        folders()


if __name__ == '__main__':
    main(sys.argv[1:])
