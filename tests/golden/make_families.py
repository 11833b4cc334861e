"""Writes families.bin: tiny models of many families as transformers saves them, with the outputs of its own classes.

    python3 make_families.py [NAME...]        # names: only these, printed and not written

Weights are multiples of 1/64 between -2 and 2, which int8 stores exactly. The file begins with the length of a JSON text
(u32, little endian) and this text: for each model its config.json, its tensors [name, shape] and its runs, whose bytes
follow each other in this order: the tensors as int8 (in units of 1/64), then the outputs of its runs as f32.
"""
import json, os, struct, sys, tempfile
import torch
import transformers
from safetensors import safe_open

SIZES = dict(vocab_size=61, hidden_size=24, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0)
GROUPED = dict(SIZES, num_key_value_heads=2)
FOUR = dict(GROUPED, num_hidden_layers=4, sliding_window=6)
SEQ2SEQ = dict(vocab_size=61, d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
               decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=64,
               pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2)
GPT = dict(vocab_size=61, n_embd=24, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=2, pad_token_id=0)
BERT = dict({k: v for k, v in SIZES.items() if not k.endswith('token_id')}, pad_token_id=0, type_vocab_size=2)
MODERN = dict(SIZES, cls_token_id=1, sep_token_id=2, num_hidden_layers=4, local_attention=8)
HYBRID = ['sliding_attention', 'full_attention'] * 2
SMALL_EYE = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14)

# name: class of the model, class of its configuration without "Config", keys
FAMILIES = {
    'arcee': ('ArceeForCausalLM', 'Arcee', GROUPED),
    'bart-untied': ('BartForConditionalGeneration', 'Bart', dict(SEQ2SEQ, tie_word_embeddings=False)),
    'bert-untied': ('BertForMaskedLM', 'Bert', dict(BERT, tie_word_embeddings=False)),
    'biogpt': ('BioGptForCausalLM', 'BioGpt', SIZES),
    'blenderbot': ('BlenderbotForConditionalGeneration', 'Blenderbot', SEQ2SEQ),
    'codegen': ('CodeGenForCausalLM', 'CodeGen', dict(GPT, n_embd=32, n_head=4, rotary_dim=4)),
    'codegen-8': ('CodeGenForCausalLM', 'CodeGen', dict(GPT, n_embd=32, n_head=8, rotary_dim=4)),
    'cohere': ('CohereForCausalLM', 'Cohere', dict(GROUPED, logit_scale=0.5)),
    'cohere-norms': ('CohereForCausalLM', 'Cohere', dict(GROUPED, logit_scale=0.25, use_qk_norm=True)),
    'cohere2': ('Cohere2ForCausalLM', 'Cohere2', dict(FOUR, logit_scale=0.5, layer_types=HYBRID)),
    'electra': ('ElectraForMaskedLM', 'Electra', dict(BERT, embedding_size=24)),
    'electra-encoder': ('ElectraModel', 'Electra', dict(BERT, embedding_size=24)),
    'embeddinggemma': ('Gemma3TextModel', 'Gemma3Text', dict(FOUR, head_dim=6, query_pre_attn_scalar=6, sliding_window=8, use_bidirectional_attention=True)),
    'ernie': ('ErnieForMaskedLM', 'Ernie', BERT),
    'ernie4_5': ('Ernie4_5ForCausalLM', 'Ernie4_5', dict(GROUPED, head_dim=6)),
    'eurobert': ('EuroBertModel', 'EuroBert', dict(GROUPED, head_dim=6)),
    'exaone4': ('Exaone4ForCausalLM', 'Exaone4', dict(FOUR, head_dim=6, layer_types=HYBRID)),
    'exaone4-full': ('Exaone4ForCausalLM', 'Exaone4', dict(GROUPED, head_dim=6, sliding_window=None, layer_types=['full_attention'] * 2)),
    'falcon': ('FalconForCausalLM', 'Falcon', dict(SIZES, multi_query=True, bias=False, parallel_attn=True)),
    'falcon-new': ('FalconForCausalLM', 'Falcon', dict(SIZES, new_decoder_architecture=True, num_kv_heads=2)),
    'falcon-rw': ('FalconForCausalLM', 'Falcon', dict(SIZES, multi_query=False, bias=True, parallel_attn=False)),
    'falcon-one-norm': ('FalconForCausalLM', 'Falcon', dict(SIZES, new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1)),
    'gemma-act': ('GemmaForCausalLM', 'Gemma', dict(GROUPED, head_dim=6, hidden_act='gelu', hidden_activation='gelu')),
    'gemma3-image': ('Gemma3ForConditionalGeneration', 'Gemma3', dict(
        text_config=dict(FOUR, head_dim=6, query_pre_attn_scalar=6), mm_tokens_per_image=4, vision_config=dict(
            hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14))),
    'gemma3-cap': ('Gemma3ForCausalLM', 'Gemma3Text', dict(FOUR, head_dim=6, attn_logit_softcapping=2.0)),
    'glm': ('GlmForCausalLM', 'Glm', dict(GROUPED, head_dim=8, attention_bias=True)),
    'glm4': ('Glm4ForCausalLM', 'Glm4', dict(GROUPED, head_dim=8, attention_bias=True)),
    'gpt_bigcode': ('GPTBigCodeForCausalLM', 'GPTBigCode', GPT),
    'gpt_bigcode-heads': ('GPTBigCodeForCausalLM', 'GPTBigCode', dict(GPT, multi_query=False)),
    'granitemoe': ('GraniteMoeForCausalLM', 'GraniteMoe', dict(GROUPED, num_local_experts=4, num_experts_per_tok=2, embedding_multiplier=3.0, logits_scaling=2.5, residual_multiplier=0.4, attention_multiplier=0.3)),
    'granitemoehybrid': ('GraniteMoeHybridForCausalLM', 'GraniteMoeHybrid', dict(GROUPED, num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=20, position_embedding_type='rope', layer_types=['attention'] * 2, mamba_n_heads=4, mamba_d_head=12, embedding_multiplier=3.0, logits_scaling=2.5, residual_multiplier=0.4, attention_multiplier=0.3)),
    'helium': ('HeliumForCausalLM', 'Helium', dict(GROUPED, head_dim=6)),
    'jais2': ('Jais2ForCausalLM', 'Jais2', dict(GROUPED, head_dim=6)),
    'jina-v3': ('JinaEmbeddingsV3Model', 'JinaEmbeddingsV3', dict(BERT, type_vocab_size=1, pad_token_id=1)),
    'llama-base': ('LlamaModel', 'Llama', GROUPED),
    'm2m_100': ('M2M100ForConditionalGeneration', 'M2M100', SEQ2SEQ),
    'mbart': ('MBartForConditionalGeneration', 'MBart', dict(SEQ2SEQ, scale_embedding=True)),
    'megatron-bert': ('MegatronBertForMaskedLM', 'MegatronBert', BERT),
    'ministral': ('MinistralForCausalLM', 'Ministral', dict(FOUR, head_dim=6, layer_types=HYBRID)),
    'mpt': ('MptForCausalLM', 'Mpt', dict(vocab_size=61, d_model=24, n_heads=4, n_layers=2, expansion_ratio=2, max_seq_len=64)),
    'mpt-6': ('MptForCausalLM', 'Mpt', dict(vocab_size=61, d_model=24, n_heads=6, n_layers=2, expansion_ratio=2, max_seq_len=64)),
    'mt5': ('MT5ForConditionalGeneration', 'MT5', dict(vocab_size=61, d_model=24, d_kv=6, d_ff=32, num_layers=2, num_heads=4)),
    'nanochat': ('NanoChatForCausalLM', 'NanoChat', GROUPED),
    'nemotron': ('NemotronForCausalLM', 'Nemotron', dict(GROUPED, head_dim=6, partial_rotary_factor=0.67)),
    'nomic_bert': ('NomicBertModel', 'NomicBert', BERT),
    'olmo3': ('Olmo3ForCausalLM', 'Olmo3', dict(FOUR, layer_types=HYBRID)),
    'olmoe': ('OlmoeForCausalLM', 'Olmoe', dict(GROUPED, num_experts=4, num_experts_per_tok=2)),
    'openai-gpt': ('OpenAIGPTLMHeadModel', 'OpenAIGPT', dict(GPT)),
    'pegasus': ('PegasusForConditionalGeneration', 'Pegasus', dict(SEQ2SEQ, scale_embedding=True)),
    'persimmon': ('PersimmonForCausalLM', 'Persimmon', dict(SIZES, hidden_size=32)),
    'plbart': ('PLBartForConditionalGeneration', 'PLBart', SEQ2SEQ),
    'qwen2-base': ('Qwen2Model', 'Qwen2', dict(FOUR, use_sliding_window=True, max_window_layers=1)),
    'qwen2-vl': ('Qwen2VLForConditionalGeneration', 'Qwen2VL', dict(
        text_config=dict(GROUPED, hidden_size=32, rope_parameters=dict(rope_type='default', rope_theta=10000.0, mrope_section=[1, 1, 2])),
        vision_config=dict(depth=1, embed_dim=8, hidden_size=32, num_heads=2, patch_size=4))),
    'qwen3-vl': ('Qwen3VLForConditionalGeneration', 'Qwen3VL', dict(
        text_config=dict(GROUPED, head_dim=8, rope_parameters=dict(rope_type='default', rope_theta=10000.0, mrope_section=[2, 1, 1])),
        vision_config=dict(depth=1, hidden_size=8, out_hidden_size=24, intermediate_size=8, num_heads=2, patch_size=4, deepstack_visual_indexes=[0]))),
    'qwen3_moe': ('Qwen3MoeForCausalLM', 'Qwen3Moe', dict(GROUPED, head_dim=6, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)),
    'roformer': ('RoFormerForMaskedLM', 'RoFormer', dict(BERT, embedding_size=24)),
    'seed_oss': ('SeedOssForCausalLM', 'SeedOss', dict(GROUPED, head_dim=6)),
    'smolvlm': ('SmolVLMForConditionalGeneration', 'SmolVLM', dict(text_config=dict(GROUPED, model_type='llama'), vision_config=dict(
            hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14))),
    't5-encoder': ('T5EncoderModel', 'T5', dict(vocab_size=61, d_model=24, d_kv=6, d_ff=32, num_layers=2, num_heads=4)),
    'vaultgemma': ('VaultGemmaForCausalLM', 'VaultGemma', dict(FOUR, head_dim=6, layer_types=HYBRID)),
    'xglm': ('XGLMForCausalLM', 'XGLM', dict(vocab_size=61, d_model=24, num_layers=2, attention_heads=4, ffn_dim=32, max_position_embeddings=64)),
    'xlm-roberta-xl': ('XLMRobertaXLForMaskedLM', 'XLMRobertaXL', dict(BERT, pad_token_id=1)),
    'albert': ('AlbertForMaskedLM', 'Albert', dict(BERT, embedding_size=16, num_hidden_layers=3, num_hidden_groups=1, hidden_act='gelu_new')),
    'albert-groups': ('AlbertModel', 'Albert', dict(BERT, embedding_size=16, num_hidden_layers=5, num_hidden_groups=2)),
    'bart-widths': ('BartForConditionalGeneration', 'Bart', dict(SEQ2SEQ, encoder_ffn_dim=20, activation_function='quick_gelu')),
    'bloom-normed': ('BloomForCausalLM', 'Bloom', dict(vocab_size=61, hidden_size=24, n_layer=2, n_head=4, apply_residual_connection_post_layernorm=True)),
    'electra-small': ('ElectraForMaskedLM', 'Electra', dict(BERT, embedding_size=16, hidden_act='relu')),
    'electra-small-encoder': ('ElectraModel', 'Electra', dict(BERT, embedding_size=40)),
    'embeddinggemma-untied': ('Gemma3TextModel', 'Gemma3Text', dict(FOUR, head_dim=6, query_pre_attn_scalar=6, sliding_window=8, use_bidirectional_attention=True, tie_word_embeddings=False)),
    'falcon-alibi': ('FalconForCausalLM', 'Falcon', dict(SIZES, num_attention_heads=6, multi_query=False, bias=True, parallel_attn=False, alibi=True)),
    'gpt2-base': ('GPT2Model', 'GPT2', dict(GPT, activation_function='tanh')),
    'gpt2-layers': ('GPT2LMHeadModel', 'GPT2', dict(GPT, n_layer=3, scale_attn_by_inverse_layer_idx=True, activation_function='quick_gelu')),
    'gpt2-mish': ('GPT2LMHeadModel', 'GPT2', dict(GPT, activation_function='mish')),
    'gpt2-relu2': ('GPT2LMHeadModel', 'GPT2', dict(GPT, activation_function='relu2')),
    'hunyuan': ('HunYuanDenseV1ForCausalLM', 'HunYuanDenseV1', dict(GROUPED, head_dim=6)),
    'hunyuan-alpha': ('HunYuanDenseV1ForCausalLM', 'HunYuanDenseV1', dict(GROUPED, head_dim=8, rope_parameters=dict(rope_type='dynamic', rope_theta=10000.0, factor=1.0, alpha=1000.0))),
    'marian-two': ('MarianMTModel', 'Marian', dict(SEQ2SEQ, decoder_vocab_size=70, share_encoder_decoder_embeddings=False, decoder_ffn_dim=40)),
    'modernbert': ('ModernBertForMaskedLM', 'ModernBert', dict(MODERN, classifier_activation='relu')),
    'modernbert-encoder': ('ModernBertModel', 'ModernBert', dict(MODERN, norm_bias=True, attention_bias=True, mlp_bias=True)),
    'modernbert-decoder': ('ModernBertDecoderForCausalLM', 'ModernBertDecoder', MODERN),
    'nanochat-bias': ('NanoChatForCausalLM', 'NanoChat', dict(GROUPED, attention_bias=True)),
    'olmoe-clip': ('OlmoeForCausalLM', 'Olmoe', dict(GROUPED, num_experts=4, num_experts_per_tok=2, clip_qkv=0.6)),
    'qwen3-base-dynamic': ('Qwen3Model', 'Qwen3', dict(GROUPED, head_dim=6, max_position_embeddings=8, rope_parameters=dict(rope_type='dynamic', rope_theta=10000.0, factor=2.0))),
    'roberta-relu': ('RobertaForMaskedLM', 'Roberta', dict(BERT, hidden_act='relu', pad_token_id=1)),
    'roformer-small': ('RoFormerForMaskedLM', 'RoFormer', dict(BERT, embedding_size=16)),
    'aya_vision': ('AyaVisionForConditionalGeneration', 'AyaVision', dict(text_config=dict(FOUR, model_type='cohere2', logit_scale=0.5), vision_config=dict(SMALL_EYE, model_type='siglip_vision_model'), image_token_index=3)),
    'big_bird': ('BigBirdForMaskedLM', 'BigBird', dict(BERT, attention_type='original_full')),
    'cohere-base': ('CohereModel', 'Cohere', GROUPED),
    'cwm': ('CwmForCausalLM', 'Cwm', dict(FOUR, head_dim=6, layer_types=HYBRID)),
    'data2vec-text': ('Data2VecTextForMaskedLM', 'Data2VecText', dict(BERT, pad_token_id=1)),
    'eurobert-masked': ('EuroBertForMaskedLM', 'EuroBert', dict(GROUPED, head_dim=6, mlp_bias=True)),
    'flex_olmo': ('FlexOlmoForCausalLM', 'FlexOlmo', dict(GROUPED, num_experts=4, num_experts_per_tok=2)),
    'gemma3-both-sides': ('Gemma3ForCausalLM', 'Gemma3Text', dict(FOUR, head_dim=6, query_pre_attn_scalar=6, sliding_window=8, use_bidirectional_attention=True)),
    'gptj-base': ('GPTJModel', 'GPTJ', dict(GPT, n_embd=32, rotary_dim=4)),
    'jina-v3-masked': ('JinaEmbeddingsV3ForMaskedLM', 'JinaEmbeddingsV3', dict(BERT, type_vocab_size=1, pad_token_id=1)),
    'llava-qwen2': ('LlavaForConditionalGeneration', 'Llava', dict(text_config=dict(FOUR, model_type='qwen2', use_sliding_window=True, max_window_layers=2), vision_config=dict(SMALL_EYE, model_type='clip_vision_model'), image_token_index=3)),
    'modernbert-decoder-base': ('ModernBertDecoderModel', 'ModernBertDecoder', MODERN),
    'mvp': ('MvpForConditionalGeneration', 'Mvp', SEQ2SEQ),
    'nomic_bert-masked': ('NomicBertForMaskedLM', 'NomicBert', BERT),
    'olmoe-base': ('OlmoeModel', 'Olmoe', dict(GROUPED, num_experts=4, num_experts_per_tok=2)),
    'qwen2_moe-windows': ('Qwen2MoeForCausalLM', 'Qwen2Moe', dict(FOUR, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, shared_expert_intermediate_size=20, use_sliding_window=True, max_window_layers=3)),
    'rembert': ('RemBertForMaskedLM', 'RemBert', dict(BERT, input_embedding_size=16, output_embedding_size=16)),
    'roberta-prelayernorm': ('RobertaPreLayerNormForMaskedLM', 'RobertaPreLayerNorm', dict(BERT, pad_token_id=1)),
}


def on_grid(model, seed):
    """Every weight becomes a multiple of 1/64; tied weights stay tied."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if not p.requires_grad:  # a table of sinusoids
                continue
            std = 0.12 if p.dim() > 1 else 0.2
            mean = p.double().mean().round() if p.dim() == 1 else 0
            if 'embed' in name or 'wte' in name or 'shared' in name:
                std = 0.4
            noise = torch.randn(p.shape, generator=generator) * std
            p.copy_(((noise + mean) * 64).round().clamp(-127, 127) / 64)
        for name, b in model.named_buffers():
            if name.endswith('final_logits_bias'):
                b.copy_((torch.randn(b.shape, generator=generator) * 20).round() / 64)


def outputs(model, name):
    generator = torch.Generator().manual_seed(len(name))
    draw = lambda n: torch.randint(3, 61, (n,), generator=generator).tolist()
    runs = []
    for n in (14, 5):
        run = {'ids': draw(n)}
        inputs = {'input_ids': torch.tensor([run['ids']])}
        if model.config.is_encoder_decoder and 'EncoderModel' not in type(model).__name__:
            run['source'] = draw(9)
            inputs = {'input_ids': torch.tensor([run['source']]), 'decoder_input_ids': inputs['input_ids']}
        with torch.no_grad():
            out = model(**inputs)
        key = 'logits' if 'logits' in out else 'last_hidden_state'
        values = out[key][0].float().contiguous()
        run['out'] = ['logits' if key == 'logits' else 'hidden', list(values.shape)]
        runs.append((run, values))
    return runs


def floats(values):
    flat = values.reshape(-1).tolist()
    return struct.pack(f'<{len(flat)}f', *flat)


def packed(name, cls, config, keys, seed, outputs, prepare=on_grid):
    made = getattr(transformers, config + 'Config')(**keys)
    # Falcon's eager attention adds the distances twice
    made._attn_implementation = 'sdpa' if config == 'Falcon' else 'eager'
    made._experts_implementation = 'eager'
    model = getattr(transformers, cls)(made).eval()
    prepare(model, seed)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        config = json.load(open(os.path.join(folder, 'config.json')))
        tensors, body = [], b''
        with safe_open(os.path.join(folder, 'model.safetensors'), 'pt') as file:
            for key in file.keys():
                if 'embed_positions' in key and not model.get_parameter(key).requires_grad:
                    continue
                t = file.get_tensor(key)
                units = (t * 64).round()
                assert torch.equal(units / 64, t), key
                tensors.append([key, list(t.shape)])
                body += bytes(int(x) & 255 for x in units.reshape(-1).tolist())
    try:
        runs = outputs(model.double(), name)
    except RuntimeError:  # a mask that is always float32
        runs = outputs(model.float(), name)
    body += b''.join(floats(values) for _, values in runs)
    return {'name': name, 'config': config, 'tensors': tensors, 'runs': [run for run, _ in runs]}, body


def version():
    return {'transformers': transformers.__version__, 'torch': torch.__version__}


def main(names):
    made = []
    for i, name in enumerate(FAMILIES):
        if names and name not in names:
            continue
        try:
            made.append(packed(name, *FAMILIES[name], i, outputs))
        except Exception as error:
            print(name, type(error).__name__, str(error)[:300])
            if os.environ.get('TRACE'): raise
    about = {**version(), 'models': [entry for entry, _ in made]}
    text = json.dumps(about).encode()
    path = os.environ.get('OUT') or os.path.join(os.path.dirname(__file__), 'families.bin')
    with open(path, 'wb') as file:
        file.write(struct.pack('<I', len(text)) + text + b''.join(body for _, body in made))
    print(len(made), 'models')


if __name__ == '__main__':
    main(sys.argv[1:])
