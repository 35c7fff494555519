"""FLOPs by convention against what the projects publish or compute, and shapes from config.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import peakline
import pytest
from peakline import CONVENTIONS, Transformer, from_hf_config, transformer_flops
from test_mfu import MODEL, run

LLAMA3_8B: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
GPT2: dict[str, Any] = {
    "model_type": "gpt2",
    "n_layer": 12,
    "n_head": 12,
    "n_embd": 768,
    "vocab_size": 50257,
    "n_positions": 1024,
}


def megatron(layers: int, heads: int, hidden: int) -> Transformer:
    """A model of Megatron's papers: plain MLPs of four times the width, a vocabulary of 51200."""
    return Transformer(
        layers,
        heads,
        hidden // heads,
        4 * hidden,
        51200,
        hidden=hidden,
        mlp_matrices=2,
        tied_embeddings=True,
    )


def test_torchtitan() -> None:
    # torchtitan's get_nparams_and_flops of Llama 3 8B at 8192 tokens: 57.914 GFLOP.
    llama = from_hf_config(LLAMA3_8B)
    flops = llama.flops(8192, convention="torchtitan")
    assert flops == 57_914_449_920
    # Its N is the model's 8 030 261 248 parameters without nn.Embedding.
    assert llama.params().matmul_params == 8_030_261_248 - 128256 * 4096
    assert flops == transformer_flops(llama.params().matmul_params, 32, 32, 128, 8192)
    # With the input embedding as a product it would be 5.4 % more.
    assert llama.flops(8192, convention="nanogpt") / flops == pytest.approx(1.054, abs=0.001)


def test_palm() -> None:
    # Table 3: 540.35 B parameters; appendix B: MFU 46.2 % at 238.3 k tokens/s on 6144 TPU v4. Its
    # MLPs are gated, K and V have one head, and the embeddings are tied.
    palm = Transformer(
        118, 48, 256, 4 * 18432, 256_000, hidden=18432, kv_heads=1, tied_embeddings=True
    )
    assert palm.params().total == pytest.approx(540.35e9, rel=1e-3)
    share = peakline.mfu(palm.flops(2048) * 238.3e3, 1.0, 275e12, devices=6144)
    assert share == pytest.approx(0.462, abs=0.001)
    # All that PaLM has takes part in products; of an untied model the input embedding does not.
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
def test_megatron_papers(
    model: Transformer, batch: int, devices: int, seconds: float, share: float
) -> None:
    # The paper counts the whole attention matrix; the program has counted half of it since.
    flops = model.flops(2048, convention="megatron", causal=False) * batch * 2048
    assert peakline.mfu(flops, seconds, 312e12, devices=devices) == pytest.approx(share, abs=6e-4)


def test_megatron_program() -> None:
    # num_floating_point_operations of Megatron-LM (commit 001b00c) for Llama 3 8B at 8192 tokens:
    # projections and half of the core attention, gated MLP, logits; times 3 for training.
    attention = 4096 * (4096 + 1024 + 1024) + 4096 * 8192 // 2 * 2 + 4096 * 4096
    expected = 6 * 32 * (attention + 3 * 4096 * 14336) + 6 * 4096 * 128256
    assert expected == 51_470_401_536
    assert from_hf_config(LLAMA3_8B).flops(8192, convention="megatron") == expected


def test_nanogpt() -> None:
    # transformer_sizing.ipynb of nanoGPT: 124 337 664 parameters, and 875 062 886 400 FLOP for
    # 1024 tokens by PaLM's rule, as estimate_mfu counts them.
    gpt = from_hf_config(GPT2)
    assert gpt.params().total == 124_337_664
    assert gpt.flops(1024, convention="nanogpt") * 1024 == 875_062_886_400
    # With tied embeddings and learned positions PaLM's N is the same.
    assert gpt.flops(1024) == gpt.flops(1024, convention="nanogpt")


@pytest.mark.parametrize(
    ("config", "total", "active"),
    [
        (LLAMA3_8B, 8_030_261_248, 8_030_261_248),
        # Llama 3.2 1B ties its embeddings.
        (
            {
                **LLAMA3_8B,
                "num_hidden_layers": 16,
                "hidden_size": 2048,
                "head_dim": 64,
                "intermediate_size": 8192,
                "tie_word_embeddings": True,
            },
            1_235_814_400,
            1_235_814_400,
        ),
        (
            {
                **LLAMA3_8B,
                "model_type": "mixtral",
                "vocab_size": 32000,
                "num_local_experts": 8,
                "num_experts_per_tok": 2,
            },
            46_702_792_704,
            12_879_925_248,
        ),
        # Qwen3 30B A3B, without the 12288 weights of its norms of queries and keys.
        (
            {
                "model_type": "qwen3_moe",
                "num_hidden_layers": 48,
                "num_attention_heads": 32,
                "num_key_value_heads": 4,
                "head_dim": 128,
                "hidden_size": 2048,
                "intermediate_size": 6144,
                "moe_intermediate_size": 768,
                "num_experts": 128,
                "num_experts_per_tok": 8,
                "vocab_size": 151936,
                "tie_word_embeddings": False,
            },
            30_532_122_624 - 12288,
            3_353_020_416,
        ),
    ],
    ids=["llama", "tied", "mixtral", "qwen3_moe"],
)
def test_configs_of_known_models(
    tmp_path: Path, config: dict[str, Any], total: int, active: int
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    params = from_hf_config(path).params()
    assert (params.total, params.active) == (total, active)
    assert from_hf_config(path) == from_hf_config(config)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a config.json of a model"),
        ("{}", "model_type is None: known are gpt2, llama"),
        ('{"model_type": "deepseek_v3"}', "'deepseek_v3': known are"),
        (json.dumps({**LLAMA3_8B, "vocab_size": "many"}), "vocab_size is 'many', but must be a"),
        (json.dumps({**LLAMA3_8B, "hidden_size": None}), "hidden_size is None"),
        (json.dumps({**LLAMA3_8B, "num_hidden_layers": True}), "num_hidden_layers is True"),
        (json.dumps({**LLAMA3_8B, "num_key_value_heads": 5}), "kv_heads must divide"),
        (json.dumps({**LLAMA3_8B, "tie_word_embeddings": 1}), "tie_word_embeddings is 1"),
    ],
)
def test_configs_that_cannot_be_used(
    capsys: pytest.CaptureFixture[str], ceilings_path: str, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    arguments = ["--profile", ceilings_path, "--dtype", "bf16", "--tokens-per-second", "1"]
    code, out, err = run(capsys, *arguments, "--hf-config", str(path), "--sequence", "8192")
    assert (code, out) == (2, "")
    assert message in err
    with pytest.raises(ValueError, match=r"none.json: cannot be read"):
        from_hf_config(tmp_path / "none.json")


def test_unknown_conventions_are_refused() -> None:
    with pytest.raises(ValueError, match="use one of palm, torchtitan, megatron, nanogpt"):
        from_hf_config(LLAMA3_8B).flops(8192, convention="chinchilla")


@pytest.fixture
def arguments(ceilings_path: str) -> list[str]:
    return ["--profile", ceilings_path, "--dtype", "bf16", "--tokens-per-second", "10000"]


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_command_by_convention(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], convention: str
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA3_8B))
    shape = ["--hf-config", str(path), "--sequence", "8192", "--convention", convention]
    expected = from_hf_config(path).flops(8192, convention=convention)
    code, out, _ = run(capsys, *arguments, *shape)
    assert code == 0
    assert out.startswith(f"model: {expected:.5g} FLOP per token ({convention})\n")
    result = json.loads(run(capsys, *arguments, *shape, "--json")[1])
    assert (result["convention"], result["flops_per_token"]) == (convention, expected)
    # Half of the attention matrix counts, by the convention or by the option.
    half = 6 * 32 * 32 * 128 * 8192
    causal = json.loads(run(capsys, *arguments, *shape, "--causal", "--json")[1])
    assert causal["flops_per_token"] == expected - half * (convention != "megatron")
    # N is as given by hand.
    params = str(from_hf_config(path).counted_params(convention))
    by_hand = ["--params", params, "--layers", "32", "--heads", "32", "--head-dim", "128"]
    by_hand += ["--sequence", "8192", "--convention", convention, "--json"]
    assert json.loads(run(capsys, *arguments, *by_hand)[1])["flops_per_token"] == expected


def test_command_recomputes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA3_8B))
    shape = ["--hf-config", str(path), "--sequence", "8192", "--json", "--recompute"]
    full = json.loads(run(capsys, *arguments, *shape, "full")[1])
    assert full["hardware_flops_per_token"] == full["flops_per_token"] * 4 / 3
    attention = json.loads(run(capsys, *arguments, *shape, "attention")[1])
    extra = attention["hardware_flops_per_token"] - attention["flops_per_token"]
    assert extra == 4 * 32 * 32 * 128 * 8192


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--flops-per-token", "1e9", "--causal"], "leave out --causal"),
        (["--flops-per-token", "1e9", "--kv-heads", "8"], "leave out --kv-heads"),
        (["--flops-per-token", "1e9", "--active-params", "1e9"], "leave out --active-params"),
        (["--flops-per-token", "1e9", "--convention", "palm"], "leave out --convention"),
        (["--flops-per-token", "1e9", "--hf-config", "x"], "leave out --hf-config"),
        (["--flops-per-token", "1e9", "--recompute", "full"], "leave out --recompute"),
        (["--hf-config", "x", "--layers", "2", "--sequence", "1"], "leave out --layers"),
        (["--hf-config", "x"], "--hf-config needs --sequence"),
        (["--hf-config", "/none", "--sequence", "1"], "/none: cannot be read"),
    ],
)
def test_no_option_is_ignored(
    capsys: pytest.CaptureFixture[str], arguments: list[str], options: list[str], message: str
) -> None:
    code, out, err = run(capsys, *arguments, *options)
    assert (code, out) == (2, "")
    assert message in err


def test_flops_as_given_are_named(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    _, out, _ = run(capsys, *arguments, "--flops-per-token", "4e10")
    assert out.startswith("model: 4e+10 FLOP per token (as given)\n")


def test_more_than_was_measured_is_said(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    _, out, _ = run(capsys, *arguments, "--flops-per-token", "7.5e10")
    assert "Above 100 %: of achievable (sustained), of achievable (model-shaped). No run" in out
    _, out, _ = run(capsys, *arguments, "--flops-per-token", "3e10")
    assert "Above 100 %" not in out


def test_too_many_hardware_flops_are_called_hfu(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    options = [*arguments, *MODEL, "--recompute", "full"]
    options[options.index("--tokens-per-second") + 1] = "18000"
    code, _, err = run(capsys, *options)
    assert code == 2
    assert "HFU of 118 % of the datasheet peak of tensor.bf16 is impossible" in err
