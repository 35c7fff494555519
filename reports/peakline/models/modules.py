"""Names of modules in files of quantized weights: exact, with wildcards, or regular expressions."""

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Any

from peakline.models.fields import ConfigError
from peakline.profile.errors import shown

# Each part's modules in the spellings of model classes: containers, and matrices that make a whole.
_LATENT = "kv_a_proj_with_mqa kv_b_proj o_proj"
_SPELLINGS = {
    "attention": (
        "self_attn attention attn self_attention mixer",
        (
            *("q_proj k_proj v_proj o_proj", "qkv_proj o_proj", "query_key_value dense"),
            *(f"q_a_proj q_b_proj {_LATENT}", f"q_proj {_LATENT}", "c_attn c_proj", "wqkv wo"),
        ),
    ),
    "state": (
        "linear_attn mixer mamba",
        ("in_proj_qkvz out_proj", "in_proj_qkv in_proj_z out_proj", "in_proj out_proj"),
    ),
    "dense": (
        "mlp feed_forward mixer block_sparse_moe",
        (
            *("gate_proj up_proj down_proj", "gate_up_proj down_proj", "up_proj down_proj"),
            *("w1 w2 w3", "c_fc c_proj", "dense_h_to_4h dense_4h_to_h", "fc1 fc2"),
        ),
    ),
    "shared": (
        "mlp.shared_experts mlp.shared_expert feed_forward.shared_expert mixer.shared_experts "
        "block_sparse_moe.shared_experts shared_mlp",
        ("gate_proj up_proj down_proj", "gate_up_proj down_proj", "up_proj down_proj"),
    ),
    "experts": (
        "mlp.experts block_sparse_moe.experts feed_forward.experts mixer.experts experts",
        (
            *(
                "0.gate_proj 0.up_proj 0.down_proj",
                "gate_up_proj down_proj",
                "0.up_proj 0.down_proj",
            ),
            *("0.w1 0.w2 0.w3",),
        ),
    ),
}
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(?=[0-9*])")
# Other layers than the language model's: encoders, and multi-token prediction.
_OTHERS = re.compile(r"vis|audio|image|encoder|speech|mtp|projector|nextn|talker")
_PREFIXES = ("model.", "language_model.model.", "model.language_model.", "backbone.")
_HEADS = ("lm_head", "output", "embed_out")
_MOST_STARS = 6  # each costs a factor of a name's length
_MOST_MATCHES = 1 << 17  # layers times patterns
_MOST_OF_PATTERN = 256


@cache
def spellings(part: str) -> tuple[tuple[str, ...], ...]:
    """The modules of a part of a layer, once for each way to spell them."""
    containers, wholes = _SPELLINGS[part]
    return tuple(
        tuple(f"{container}.{matrix}" for matrix in whole.split())
        for container in containers.split()
        for whole in wholes
    )


def part_of(tensor: str) -> tuple[int, str] | None:
    """Layer and part of a stored matrix, if it is one; layer -1 for output head and embedding."""
    if _OTHERS.search(tensor) or re.search(r"scale|zero|bias|norm|g_idx|_shape", tensor):
        return None
    found = re.search(r"(?:^|\.)(?:layers|h|blocks)\.([0-9]{1,6})\.(.+)", tensor)
    if found is None:
        if any(f".{name}." in f".{tensor}" for name in _HEADS):
            return -1, "head"
        return (-1, "embedding") if "embed_tokens." in tensor else None
    layer, rest = int(found[1]), found[2].split(".")
    if any(name.startswith("shared_") for name in rest[:-1]) and "shared_expert_gate" not in rest:
        return layer, "shared"
    if "experts" in rest:
        return layer, "experts"
    leaf = rest[1] if len(rest) > 1 else ""
    for part in ("state", "attention", "dense"):
        if any(f"{rest[0]}.{leaf}" in whole for whole in spellings(part)):
            return layer, "attention" if part == "state" else part
    return None


class Named:
    """What files state by name for modules of layers."""

    def __init__(self, stated: Iterable[tuple[str, Any]], layers: int) -> None:
        self.exact: dict[str, Any] = {}
        self.patterns: dict[str, list[tuple[re.Pattern[str], Any]]] = defaultdict(list)
        for name, value in stated:
            if name.startswith("re:"):
                self.patterns["re"].append((_expression(name[3:]), value))
            elif (own := _of_language(name)) is not None:
                if "*" not in own and "?" not in own:
                    self.exact.setdefault(own, value)
                else:
                    number = re.match(r"layers\.([0-9]+)\.", own)
                    self.patterns[number[1] if number else ""].append((_wildcard(own), value))
        general = len(self.patterns["re"]) + len(self.patterns[""])
        single = max(map(len, self.patterns.values()))
        if (general + single) * layers > _MOST_MATCHES:
            raise ConfigError(
                f"{general + single} patterns of names for {layers} layers are too many"
            )

    def of(self, module: str) -> Any | None:
        """The value of a module such as layers.0.mlp.down_proj or lm_head, if one is stated."""
        names = module.split(".")
        for first in range(len(names)):
            for last in range(len(names), first, -1):
                if (found := self.exact.get(".".join(names[first:last]))) is not None:
                    return found
        number = names[1] if names[0] == "layers" else ""
        for pattern, value in (*self.patterns[""], *(self.patterns[number] if number else ())):
            if pattern.fullmatch(module):
                return value
        for pattern, value in self.patterns["re"]:
            if any(pattern.match(prefix + module) for prefix in ("", *_PREFIXES)):
                return value
        return None

    def head(self) -> Any | None:
        return next(filter(None, map(self.of, _HEADS)), None)


def _of_language(name: str) -> str | None:
    """A name from its layer on; None for modules of encoders."""
    if _OTHERS.search(name):
        return None
    found = _LAYER.search(name)
    own = f"layers.{name[found.end() :]}" if found else name
    return re.sub(r"^(?:language_model\.|model\.)+", "", own).removesuffix(".weight")


def _wildcard(name: str) -> re.Pattern[str]:
    name = re.sub(r"\*+", "*", name)
    if name.count("*") > _MOST_STARS or len(name) > _MOST_OF_PATTERN:
        raise ConfigError(f"the pattern {shown(name)} is too complex")
    body = re.escape(name).replace(r"\*", ".*").replace(r"\?", ".")
    return re.compile(rf"(?:.*\.)?{body}(?:\..*)?")


def _expression(text: str) -> re.Pattern[str]:
    """A regular expression without nested repetition, which could take exponential time."""
    repeated = len(re.findall(r"[*+{]", text))
    if re.search(r"\)[*+{]", text) or repeated > _MOST_STARS or len(text) > _MOST_OF_PATTERN:
        raise ConfigError(f"the regular expression {shown(text)} is too complex")
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigError(f"{shown(text)} is no regular expression: {error}") from error
