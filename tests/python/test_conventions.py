"""FLOPs by convention, compared with published values."""

import peakline
import pytest
from conftest import config_of as config
from peakline import Transformer, from_hf_config, transformer_flops

LLAMA3_8B = config("llama-3-8b")


def megatron(layers, heads, hidden):
    """A model of Megatron's papers: plain MLPs of 4 x the width, vocabulary 51200."""
    shape = {"hidden": hidden, "mlp_matrices": 2, "tied_embeddings": True}
    return Transformer.uniform(layers, heads, hidden // heads, 4 * hidden, 51200, **shape)


def test_torchtitan():
    # torchtitan's get_nparams_and_flops of Llama 3 8B at 8192 tokens: 57.914 GFLOP.
    llama = from_hf_config(LLAMA3_8B)
    flops = llama.flops(8192, convention="torchtitan")
    assert flops == 57_914_449_920
    # N is the model's 8 030 261 248 parameters without nn.Embedding.
    assert llama.params().matmul_params == 8_030_261_248 - 128256 * 4096
    assert flops == transformer_flops(llama.params().matmul_params, 32, 32, 128, 8192)
    # Counting the input embedding would add 5.4 %.
    assert llama.flops(8192, convention="nanogpt") / flops == pytest.approx(1.054, abs=0.001)


def test_palm():
    # Table 3: 540.35 B parameters; appendix B: MFU 46.2 % at 238.3 k tokens/s on 6144 TPU v4. Gated
    # MLPs, one KV head, tied embeddings.
    palm = Transformer.uniform(
        118, 48, 256, 4 * 18432, 256_000, hidden=18432, kv_heads=1, tied_embeddings=True
    )
    assert palm.params().total == pytest.approx(540.35e9, rel=1e-3)
    share = peakline.mfu(palm.flops(2048) * 238.3e3, 1.0, 275e12, devices=6144)
    assert share == pytest.approx(0.462, abs=0.001)
    # Tied embeddings take part in GEMMs, an untied input embedding does not.
    assert palm.counted_params("palm") == palm.params().total
    assert from_hf_config(LLAMA3_8B).flops(8192) == 57_914_449_920


@pytest.mark.parametrize(
    ("model", "batch", "devices", "seconds", "share"),
    [
        # Korthikanti et al. 2022, table 5: iteration times of selective recomputation, and MFU.
        (megatron(96, 96, 12288), 64, 64, 13.75, 0.514),
        (megatron(105, 128, 20480), 280, 280, 37.83, 0.560),
        (megatron(128, 160, 25600), 512, 512, 71.49, 0.563),
    ],
    ids=["175B", "530B", "1T"],
)
def test_megatron_papers(model, batch, devices, seconds, share):
    # The paper counts the whole attention matrix, today's Megatron-LM half of it.
    flops = model.flops(2048, convention="megatron", causal=False) * batch * 2048
    assert peakline.mfu(flops, seconds, 312e12, devices=devices) == pytest.approx(share, abs=6e-4)


def test_megatron_program():
    # num_floating_point_operations of Megatron-LM (commit 001b00c) for Llama 3 8B at 8192 tokens:
    # projections and half of the core attention, gated MLP, logits; times 3 for training.
    attention = 4096 * (4096 + 1024 + 1024) + 4096 * 8192 // 2 * 2 + 4096 * 4096
    expected = 6 * 32 * (attention + 3 * 4096 * 14336) + 6 * 4096 * 128256
    assert expected == 51_470_401_536
    assert from_hf_config(LLAMA3_8B).flops(8192, convention="megatron") == expected


def test_nanogpt():
    # transformer_sizing.ipynb of nanoGPT: 124 337 664 parameters, and 875 062 886 400 FLOP for 1024
    # tokens by PaLM's rule, as estimate_mfu counts them.
    gpt = Transformer.uniform(
        12, 12, 64, 3072, 50257, mlp_matrices=2, tied_embeddings=True, positions=1024
    )
    assert gpt.params().total == 124_337_664
    assert gpt.flops(1024, convention="nanogpt") * 1024 == 875_062_886_400
    # PaLM's N is the same with tied embeddings and learned positions.
    assert gpt.flops(1024) == gpt.flops(1024, convention="nanogpt")


def test_torchtitan_with_tied_embeddings():
    # The only table of Llama 3.2 1B is the output's, too: get_dense_model_nparams_and_flops
    # subtracts nothing in torchtitan 0.3.0, but did in 0.2.2.
    llama = from_hf_config(config("llama-3.2-1b"))
    attention = 12 * 16 * 32 * 64 * 8192
    assert llama.flops(8192, convention="torchtitan") == 6 * 1_235_814_400 + attention
    assert llama.flops(8192, convention="torchtitan") == llama.flops(8192)


def test_torchtitan_of_mixtures():
    # get_moe_model_nparams_and_flops: DeepSeek's heads have 192 dims for QK and 128 for V; layers
    # with a window count the whole sequence.
    deepseek = from_hf_config(config("deepseek-v3"))
    flops = deepseek.flops(4096, convention="torchtitan")
    assert flops == 6 * 36_625_603_584 + 6 * 61 * 128 * (128 + 64 + 128) * 4096
    oss = from_hf_config(config("gpt-oss-20b"))
    flops = oss.flops(8192, convention="torchtitan")
    assert flops == 6 * 3_608_307_264 + 6 * 24 * 64 * 128 * 8192


def test_megatron_program_of_mamba():
    # hybrid_flops of Megatron-LM (commit 001b00c) for Nemotron-H-56B at 8192 tokens, by token.
    fields, tokens = config("nemotron-h-56b"), 8192
    hidden, pattern = fields["hidden_size"], fields["hybrid_override_pattern"]
    heads, states = fields["mamba_num_heads"], fields["ssm_state_size"]
    inner = 2 * hidden  # the program's assumption, which holds for this model
    assert inner == heads * fields["mamba_head_dim"]
    projected = 2 * inner + 2 * fields["n_groups"] * states + heads
    mamba = 2 * hidden * projected + 7 * inner * states + 2 * inner * hidden
    queries = fields["num_attention_heads"] * 128  # NemotronHConfig's defaults
    groups = 8 / fields["num_attention_heads"]
    attention = 4 * queries * (hidden + hidden * groups + tokens / 2)
    mlp = 4 * hidden * fields["intermediate_size"]
    logits = 2 * hidden * fields["vocab_size"]
    each = {"M": mamba, "*": attention, "-": mlp}
    expected = 3 * (sum(each[letter] for letter in pattern) + logits)
    assert from_hf_config(fields).flops(tokens, convention="megatron") == expected


def test_megatron_program_of_the_delta_rule():
    # gdn_layer_flops of the same commit, for Qwen3.5-27B.
    fields = config("qwen3.5-27b")["text_config"]
    hidden, size = fields["hidden_size"], fields["linear_value_head_dim"]
    keys = fields["linear_num_key_heads"] * fields["linear_key_head_dim"]
    heads = fields["linear_num_value_heads"]
    values = heads * size
    products = hidden * (2 * keys + 2 * values + 2 * heads) + hidden * values
    rule = fields["linear_conv_kernel_dim"] * (2 * keys + values) + heads * size**2 * 4
    layer = from_hf_config(config("qwen3.5-27b")).layers[0]
    own = products + 3 * hidden * fields["intermediate_size"]
    assert 2 * layer.weights.products + layer.state_flops == 2 * (own + rule)
    assert (layer.heads, layer.cached) == (0, 0)


def test_a_window_counts_by_convention():
    # Mistral 7B at 32768 tokens, with windows of 4096: the whole sequence would be 92 % more.
    mistral = from_hf_config(config("mistral-7b-v0.1"))
    flops = mistral.flops(32768)
    assert flops == 6 * 7_110_660_096 + 12 * 32 * 32 * 128 * 4096
    assert mistral.flops(32768, convention="torchtitan") / flops == pytest.approx(1.918, abs=0.001)


def test_unknown_conventions_are_refused():
    with pytest.raises(ValueError, match="use one of palm, torchtitan, megatron, nanogpt"):
        from_hf_config(LLAMA3_8B).flops(8192, convention="chinchilla")
