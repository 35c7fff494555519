"""Formats, longest context and bytes by type that a folder of published weights states."""

import dataclasses
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peakline.models.fields import MOST_PARTS, ConfigError, config_path, parsed, text_of
from peakline.models.formats import LAYER_PARTS, WEIGHT_FORMATS, Formats
from peakline.models.modules import Named, part_of, spellings
from peakline.models.transformer import Transformer
from peakline.profile.errors import shown
from peakline.profile.untrusted import Limit, require_regular
from peakline.text import short

# A header of every tensor of DeepSeek-V3 would take 12 MiB. Parsed, it may take 16 times as much.
_MOST_OF_HEADER = Limit(32 << 20, "header")
_MOST_BYTES = 1 << 62
_MOST_OF_NAME = 120  # characters of a module's name in a message
# Format by the prevailing type, if no quantization is stated.
_BY_TYPE = {"BF16": "bf16", "F16": "fp16", "F8_E4M3": "fp8"}


# By safetensors' type: elements in a byte, and the format; None: packed, as the files state.
_STORED: Mapping[str, tuple[float, str | None]] = {
    "F32": (0.25, "bf16"),
    "BF16": (0.5, "bf16"),
    "F16": (0.5, "bf16"),
    "F8_E4M3": (1.0, "fp8"),
    "I8": (1.0, "int8"),
    "U8": (2.0, None),
    "I32": (2.0, None),
}
# Names of modules that are not quantized: compressed-tensors, ModelOpt, transformers, Quark.
_EXCLUDED = ("ignore", "exclude_modules", "modules_to_not_convert", "exclude")
_OF_EXPERTS = "expert_dtype"  # of DeepSeek-V4, beside the method of all other weights
_PLAIN = "bf16"
_Shares = Mapping[str, float]  # of a part's weights, by format


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The statements of config.json, hf_quant_config.json and the headers of *.safetensors.

    quantization: as stated, else empty. types: bytes of stored weights by safetensors' names
    ("BF16", "F8_E4M3", "U8" for packed FP4), including multi-token prediction and image encoders;
    empty without weights. longest_context: None if not stated. parts: bytes by type of each part of
    each layer.
    """

    path: str
    quantization: Mapping[str, Any]
    types: Mapping[str, int]
    longest_context: int | None
    parts: Mapping[tuple[int, str], Mapping[str, int]] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Bytes of all stored weights; 0 if there are none."""
        return sum(self.types.values())

    @property
    def stated(self) -> bool:
        """Whether the files state the weights' format; BF16 is assumed otherwise."""
        return bool(self.quantization) or self._most in _BY_TYPE

    @property
    def _most(self) -> str:
        return max(self.types, key=lambda kind: self.types[kind], default="")

    def formats(self, model: Transformer | None = None) -> Formats:
        """Formats of weights and KV cache, by the parts of this model's layers, or of a layer with
        all parts. Raises ValueError for an unknown quantization."""
        stored = self.bytes or None
        if not self.quantization and not self.parts:
            return Formats(_BY_TYPE.get(self._most, _PLAIN), stored_bytes=stored)
        try:
            found = self._of_parts(model)
        except ConfigError as error:
            raise ConfigError(
                f"{self.path}: {error}: name --weights, one of {', '.join(WEIGHT_FORMATS)}"
            ) from error
        cache = "fp8" if _is_fp8(self.quantization) else "bf16"
        return dataclasses.replace(found, kv_cache=cache, stored_bytes=stored)

    def _of_parts(self, model: Transformer | None) -> Formats:
        layers = model.layers if model else (None,)
        usual, rules = _rules(self.quantization, len(layers))
        totals: dict[str, Counter[str]] = {part: Counter() for part in LAYER_PARTS}
        single = []
        for index, layer in enumerate(layers):
            sizes = layer.parts if layer else dict.fromkeys(LAYER_PARTS, 1)
            for part, size in sizes.items():
                if part not in LAYER_PARTS:
                    continue
                module = "state" if part == "attention" and layer and layer.state else part
                shares = self._stored(index, part, usual) or {
                    rules.of_part(index if model else None, module): 1.0
                }
                single.append((index, part, shares))
                totals[part].update({name: round(size * x) for name, x in shares.items()})
        most = {part: max(kinds, key=kinds.__getitem__) for part, kinds in totals.items() if kinds}
        kinds = Counter(most.values())
        # The most frequent; the attention's if several are.
        weights = max(kinds, key=kinds.__getitem__, default=_PLAIN)
        head = self._stored(-1, "head", usual) or {rules.head(model): 1.0}
        table = self._stored(-1, "embedding", usual) or {_PLAIN: 1.0}
        different: dict[str, Any] = {part: x for part, x in most.items() if x != weights}
        return Formats(
            weights,
            **different,
            head=max(head, key=head.__getitem__),
            embedding=max(table, key=table.__getitem__),
            layers=tuple(
                (index, part, name, share)
                for index, part, shares in single
                if shares != {most[part]: 1.0}
                for name, share in shares.items()
            ),
        )

    def _stored(self, layer: int, part: str, usual: Sequence[str]) -> _Shares | None:
        """By the headers of stored weights, which know best; None if these have no such part."""
        kinds = self.parts.get((layer, part))
        if kinds is None and part == "shared":  # an MLP beside the experts
            kinds = self.parts.get((layer, "dense"))
        if not kinds:
            return None
        counts = Counter[str]()
        for kind, nbytes in kinds.items():
            density, name = _STORED.get(kind, (1.0, None))
            if name == "fp8":
                name = next((x for x in usual if x.startswith("fp8")), name)
            elif name is None:
                name = next((x for x in usual if x in _PACKED or x.startswith("int4g")), None)
            if name is None:
                where = f"layer {layer}'s {part}" if layer >= 0 else f"the {part}"
                raise ConfigError(f"the quantization of {where}, stored as {kind}, is not stated")
            counts[name] += round(nbytes * density)
        total = counts.total()
        return {name: count / total for name, count in counts.items()} if total else None


_PACKED = ("nvfp4", "mxfp4")


def checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """The statements about weights in a folder or its config.json; only headers of safetensors are
    read.

    hf_quant_config.json (ModelOpt) overrides `quantization_config`. Raises ValueError for
    unreadable or damaged files.
    """
    config = config_path(path)
    values = _document(config)
    inner = text_of(values)[1]
    quantization = inner.get("quantization_config") or values.get("quantization_config")
    # The folder belongs only to a file called config.json.
    beside = config.parent if config.name == "config.json" else None
    types: Counter[str] = Counter()
    parts: dict[tuple[int, str], Counter[str]] = {}
    if beside:
        tool = require_regular(beside / "hf_quant_config.json", ConfigError)
        if tool.exists():
            quantization = _document(tool).get("quantization") or quantization
        for file in sorted(beside.glob("*.safetensors")):
            types.update(_types(file, parts))
    quantization = quantization or {}
    if not isinstance(quantization, Mapping):
        raise ConfigError(f"{config}: quantization_config is no object; name --weights")
    if quantization and (experts := inner.get(_OF_EXPERTS) or values.get(_OF_EXPERTS)):
        quantization = {_OF_EXPERTS: experts, **quantization}
    limits = (part.get("max_position_embeddings") for part in (values, inner))
    longest = next((size for size in limits if type(size) is int and size > 0), None)
    return Checkpoint(str(config), quantization, dict(sorted(types.items())), longest, parts)


class _Rules:
    """Formats by modules' names; the exclusions go first."""

    def __init__(self, default: str | None, excluded: Named, given: Named, whole: bool) -> None:
        self.default, self.excluded, self.given = default, excluded, given
        self.whole = whole  # all linear layers that are not excluded, the head included

    def of(self, module: str) -> str | None:
        return self.excluded.of(module) or self.given.of(module)

    def of_part(self, layer: int | None, part: str) -> str:
        """layer: None for any that is named."""
        best: tuple[float, list[str | None], tuple[str, ...]] = (0.0, [], ())
        for whole in spellings(part):
            for number in (layer,) if layer is not None else self.layers():
                modules = tuple(f"layers.{number}.{name}" for name in whole)
                found = [self.of(name) for name in modules]
                share = sum(name is not None for name in found) / len(found)
                best = max(best, (share, found, modules), key=lambda one: one[0])
        usual = ("mxfp4" if part == "experts" else _PLAIN) if self.default == "mxfp4" else None
        usual = usual or self.default or _PLAIN
        names = [name or usual for name in best[1]] or [usual]
        for name, module in zip(names, best[2], strict=False):
            if name != names[0]:
                raise ConfigError(f"the quantization differs within a part, at {module}")
        return names[0]

    def layers(self) -> Iterable[str]:
        numbers = {re.sub(r"[^0-9].*", "", name[7:]) for name in self.excluded.exact}
        return (numbers | set(self.excluded.patterns) | {"0"}) - {"", "re"}

    def head(self, model: Transformer | None) -> str:
        found = self.excluded.head() or self.given.head()
        untied = model is not None and not model.tied_embeddings
        return found or (self.default if self.whole and untied else None) or _PLAIN


def _rules(stated: Mapping[str, Any], layers: int) -> tuple[list[str], _Rules]:
    """The formats that are stated, and rules for modules."""
    method = _method(stated)
    given: list[tuple[str, str]] = []
    default, listed = _weights(stated), stated.get("quantized_layers")
    if isinstance(listed, Mapping):
        given += [(str(name), _known(how, str(name))) for name, how in listed.items()]
    groups = stated.get("config_groups")
    linear = False
    if default is None and isinstance(groups, Mapping):
        for key, group in groups.items():
            name = _of_group(group, stated, str(key))
            targets = group.get("targets") or ["Linear"]
            for target in targets if isinstance(targets, list) else [targets]:
                if target == "Linear":
                    default, linear = name, True
                else:
                    given.append((str(target), name))
    dynamic = stated.get("dynamic")
    excluded: list[tuple[str, str]] = []
    if isinstance(dynamic, Mapping):
        for pattern, how in dynamic.items():  # GPTQModel
            expression = f"re:{pattern[2:] if pattern[:2] in ('-:', '+:') else pattern}"
            if pattern.startswith("-:"):
                excluded.append((expression, _PLAIN))
            else:
                own = how if isinstance(how, Mapping) else {}
                given.append((expression, _known({**stated, **own}, pattern)))
    for key in _EXCLUDED:
        names = stated.get(key)
        if isinstance(names, list):
            excluded += [(str(name), _PLAIN) for name in names]
    if stated and default is None and not given:
        raise ConfigError(f"the quantization {short(method) or 'without a method'} is not known")
    if (experts := stated.get(_OF_EXPERTS)) not in (None, "fp8"):
        if experts != "fp4":
            raise ConfigError(f"{_OF_EXPERTS} {shown(experts)} is not known")
        given.append((r"re:.*\.experts\.", "mxfp4"))
    names = [name for name in dict.fromkeys((default, *(name for _, name in given))) if name]
    # compressed-tensors quantizes all that it does not ignore, GPTQ an output head if it says so.
    whole = (linear and isinstance(stated.get("ignore"), list)) or stated.get("lm_head") is True
    return names, _Rules(default, Named(excluded, layers), Named(given, layers), whole)


def _known(how: object, name: str) -> str:
    found = _weights(how) if isinstance(how, Mapping) else None
    if found is None:
        raise ConfigError(f"the quantization of {short(name, _MOST_OF_NAME)} is not known")
    return found


def _of_group(group: Any, stated: Mapping[str, Any], key: str) -> str:
    weights = group.get("weights") if isinstance(group, Mapping) else None
    if isinstance(weights, Mapping):
        found = _packed(weights, group.get("format") or stated.get("format"))
        if found == "fp8":
            found = _scaled(weights, group.get("input_activations"))
        if found:
            return found
    method = short(_method(stated)) or "without a method"
    raise ConfigError(f"the quantization {method} ({short(key)}) is not known")


def _method(stated: Mapping[str, Any]) -> str:
    return str(stated.get("quant_algo") or stated.get("quant_method") or "").lower()


def _weights(stated: Mapping[str, Any]) -> str | None:
    method, size = _method(stated), stated.get("group_size")
    if method == "fp8":
        return "fp8block" if stated.get("weight_block_size") else "fp8"
    if method in ("nvfp4", "mxfp4"):
        return method
    if method in ("awq", "gptq") and stated.get("bits") == 4 and type(size) is int and size > 0:
        return f"int4g{size}"
    return None


def _packed(weights: Mapping[str, Any], layout: object) -> str | None:
    size = weights.get("group_size")
    match weights.get("num_bits"), weights.get("type"):
        case 8, "float" if not size:
            return "fp8"
        case 8, "int" if not size:
            return "int8"
        case 4, "float":
            if layout is None:  # ModelOpt
                return {16: "nvfp4", 32: "mxfp4"}.get(size) if type(size) is int else None
            return {"mxfp4-pack-quantized": "mxfp4", "nvfp4-pack-quantized": "nvfp4"}.get(
                str(layout)
            )
        case 4, "int" if type(size) is int and size > 0:
            return f"int4g{size}{'sym' if weights.get('symmetric') is True else ''}"
    return None


def _scaled(weights: Mapping[str, Any], activations: object) -> str:
    """FP8 by its scales: of blocks, of rows (a channel's, and a token's), or of whole tensors."""
    of_tokens = isinstance(activations, Mapping) and activations.get("strategy") == "token"
    if weights.get("strategy") == "block":
        return "fp8block"
    return "fp8row" if weights.get("strategy") == "channel" and of_tokens else "fp8"


def _is_fp8(stated: Mapping[str, Any]) -> bool:
    scheme = stated.get("kv_cache_quant_algo") or stated.get("kv_cache_scheme")
    if isinstance(scheme, Mapping):
        return scheme.get("num_bits") == 8 and scheme.get("type") == "float"
    return str(scheme).lower() == "fp8"


def _document(path: Path) -> Mapping[str, Any]:
    found = parsed(path)
    if not isinstance(found, Mapping):
        raise ConfigError(f"{path}: must be a JSON object")
    return found


def _types(path: Path, parts: dict[tuple[int, str], Counter[str]]) -> Counter[str]:
    """Bytes by type; adds those of each part."""
    require_regular(path, ConfigError)
    try:
        # Not `untrusted.opened`: a header's length may look like gzip's first bytes.
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if _MOST_OF_HEADER.bytes < length <= os.path.getsize(path):
                raise ConfigError(f"{path}: its header is {_MOST_OF_HEADER.too_large()}")
            text = file.read(length) if length <= _MOST_OF_HEADER.bytes else b""
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    if text.count(b"{") + text.count(b"[") > MOST_PARTS:
        raise ConfigError(f"{path}: its header has more than {MOST_PARTS} objects and lists")
    try:
        header = json.loads(text) if len(text) == length else None
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise ConfigError(f"{path}: no safetensors file, or cut off in its header")
    types: Counter[str] = Counter()
    for key, tensor in header.items():
        if key == "__metadata__":
            continue
        match tensor:
            case {"dtype": str(kind), "data_offsets": [int(begin), int(end)]} if (
                0 <= begin <= end <= _MOST_BYTES
            ):
                types[kind] += end - begin
                if part := part_of(key):
                    parts.setdefault(part, Counter())[kind] += end - begin
            case _:
                raise ConfigError(f"{path}: a tensor has no dtype and data_offsets")
    return types
