"""Checked access to the fields of a config.json."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from peakline.profile.errors import shown
from peakline.profile.untrusted import Limit, opened, require_regular
from peakline.text import OneLine

_MOST_OF_FILE = Limit(16 << 20, "config.json")
MOST_PARTS = 1 << 20  # objects and lists, which take 16 times their text

# Far above any model, and low enough for every count to fit a float.
_MOST = 1 << 40
MOST_LAYERS = 1 << 12

# A constant of a family, or (field, default) if its files state it.
Flag = bool | tuple[str, bool]


class ConfigError(OneLine, ValueError):
    """An unusable file of a model. Names file and field, and what would be valid."""


def parsed(path: str | os.PathLike[str]) -> Any:
    with opened(path, _MOST_OF_FILE, ConfigError) as file:
        text = file.read()
        if text.count(b"{") + text.count(b"[") > MOST_PARTS:
            raise ConfigError(f"{path}: more than {MOST_PARTS} objects and lists")
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{path}: not JSON: {error}") from error


# Where models of images or sound describe their language model.
_TEXTS = (
    *("text_config", "llm_config", "language_config", "thinker_config", "language_model_config"),
    "llm_cfg",  # VILA
)


def text_of(values: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The nested description of a language model and its name, with a dot; both empty without."""
    where, text = "", values
    while key := next((key for key in _TEXTS if isinstance(text.get(key), Mapping)), None):
        where, text = f"{where}{key}.", text[key]
    return where, text if where else {}


# A model's name on Hugging Face, which people give in place of a file.
_MODEL_ID = re.compile(r"[A-Za-z0-9][\w.-]*/(?!\w*\.json)[\w.-]+")


def config_path(path: str | os.PathLike[str]) -> Path:
    """The config.json of a folder, or the path itself. Raises ConfigError."""
    if _MODEL_ID.fullmatch(os.fspath(path)) and not os.path.exists(path):
        raise ConfigError(
            f"{path}: no such file or folder; config.json must be a local file, such as "
            f"hf download {path} config.json writes"
        )
    if not os.path.isdir(path):
        return Path(path)
    config = require_regular(Path(path, "config.json"), ConfigError)
    pipeline = Path(path, "model_index.json")  # of diffusers
    return pipeline if pipeline.is_file() and not config.exists() else config


class Fields:
    """A config.json, accessed by Llama's names of fields."""

    def __init__(
        self, values: Mapping[str, Any], where: str, names: Mapping[str, str] | None = None
    ) -> None:
        self.values = values
        self.where = where  # prefix of field names in errors
        self.names = names or {}

    def has(self, key: str) -> bool:
        return self.values.get(self.names.get(key, key)) is not None

    def get(self, key: str, default: object = None) -> Any:
        return self.values.get(self.names.get(key, key), default)

    def error(self, key: str, wanted: str) -> ValueError:
        name = self.names.get(key, key)
        if name not in self.values:
            return ValueError(f"{self.where}{name} is missing, which must be {wanted}")
        return ValueError(f"{self.where}{name} is {shown(self.get(key))}, but must be {wanted}")

    def number(self, key: str, default: int | None = None, *, least: int = 1) -> int:
        """A whole number; `default` replaces null, too."""
        value = self.get(key)
        if value is None and default is not None:
            return default
        if type(value) is not int or not least <= value <= _MOST:
            raise self.error(key, f"a whole number from {least} to {_MOST}")
        return value

    def optional(self, key: str, default: int | None = None) -> int | None:
        """A whole number or null; `default` if the field is missing."""
        return None if self.get(key, default) is None else self.number(key, default)

    def first(self, *keys: str) -> int:
        """A number by the first of several names that the file has."""
        return self.number(next((key for key in keys if self.has(key)), keys[0]))

    def flag(self, flag: Flag) -> bool:
        if isinstance(flag, bool):
            return flag
        value = self.get(*flag)
        if type(value) is not bool:
            raise self.error(flag[0], "true or false")
        return value

    def indices(self, key: str) -> list[int]:
        """A list of whole numbers; empty if missing."""
        value = self.get(key) or []
        if type(value) is not list or any(
            type(item) is not int or abs(item) > _MOST for item in value
        ):
            raise self.error(key, f"a list of whole numbers up to {_MOST}")
        return value

    def each(self, key: str, kinds: Sequence[str]) -> list[str] | None:
        """One of `kinds` per layer; None if the field is missing."""
        values = self.get(key)
        if values is None:
            return None
        if type(values) is not list or any(kind not in kinds for kind in values):
            raise self.error(key, f"a list of {', '.join(kinds)}")
        if len(values) != (layers := self.layers()):
            raise self.error(key, f"one for each of the {layers} layers")
        return values

    def layers(self) -> int:
        layers = self.number("num_hidden_layers")
        if layers > MOST_LAYERS:
            raise self.error("num_hidden_layers", f"at most {MOST_LAYERS}")
        return layers

    def head_dim(self, default: int | None = None) -> int:
        """The field, else the default, else width / heads."""
        if self.get("head_dim", default) is not None:
            return self.number("head_dim", default)
        width, heads = self.number("hidden_size"), self.number("num_attention_heads")
        if width % heads:
            raise ValueError(f"{heads} heads do not divide a width of {width}")
        return width // heads

    def kv_heads(self, default: int | None) -> int:
        """Heads of K and V: the field, else the default, else all heads."""
        key, heads = "num_key_value_heads", self.number("num_attention_heads")
        missing = self.names.get(key, key) not in self.values
        return self.number(key, default if missing and default else heads)
