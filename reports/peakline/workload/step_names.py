"""Names of ranges that are steps: of training loops, and of servers, which tell the phase."""

import re
from collections.abc import Iterable

_STEP = re.compile(
    r"(profilerstep|(run[ _-])?(train(ing)?[ _-]?)?(step|iter(ation)?|training_batch)"
    r"|decode[ _-]step)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[#\s:_-]*\d+$")
_LIGHTNING = re.compile(r"\[pl\]\[profile\](\[\w+\])?(\w+\.)?")
# vLLM names requests (and tokens) of either phase; SGLang names its forward mode.
_VLLM = re.compile(
    r"execute_(?:context|new)_(?P<prefill>\d+)(?:\(\d+\))?_(?:generation|cached)_(?P<decode>\d+)"
    r"(?:\(\d+\))?"
)
_SGLANG = re.compile(r"step\[(?P<mode>[A-Z_]+)\b[^\]]*\]")
PHASES = ("decode", "prefill", "mixed")
_MODES = {"DECODE": "decode", "TARGET_VERIFY": "decode", "EXTEND": "prefill", "MIXED": "mixed"}


def phase(name: str) -> str:
    """What a server's step does, one of PHASES; "" for other ranges."""
    if match := _VLLM.fullmatch(name):
        prefill, decode = (int(match[of][:9]) for of in ("prefill", "decode"))
        return "mixed" if prefill and decode else "prefill" if prefill else "decode"
    match = _SGLANG.fullmatch(name)
    return _MODES.get(match["mode"], "") if match else ""


def numberless(name: str) -> str:
    """A range's name without its numbers."""
    if match := _VLLM.fullmatch(name):
        return name[: match.start("prefill") - 1]
    return "step" if _SGLANG.fullmatch(name) else _NUMBER.sub("", name)


def is_step(name: str) -> bool:
    plain = numberless(_LIGHTNING.sub("", name))
    return bool(phase(name)) or _STEP.fullmatch(plain) is not None


def called(names: Iterable[str], wanted: str) -> set[str]:
    """The names that `wanted` means: its own, numbered or not; a phase; a pattern with "*" and "?";
    a beginning. The first of these that there is."""
    plain = wanted.rstrip("#: _-")  # "ProfilerStep#" stands for all of them
    pattern = re.compile(re.escape(wanted).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
    ways = (
        lambda name: name == wanted or numberless(name) == plain,
        lambda name: phase(name) == wanted,
        lambda name: pattern.fullmatch(name),
        lambda name: name.startswith(wanted),
    )
    distinct = set(names)
    found = ({name for name in distinct if way(name)} for way in ways)
    return next(filter(None, found), set())
