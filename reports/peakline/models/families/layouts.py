"""Which layers of a model have a window, rotary positions or experts."""

from collections.abc import Callable

from peakline.models.fields import Fields


def even(_: Fields) -> Callable[[int], bool]:
    return lambda layer: layer % 2 == 0


def never(_: Fields) -> Callable[[int], bool]:
    return lambda layer: False


def pattern(default: int) -> Callable[[Fields], Callable[[int], bool]]:
    """All layers but every n-th."""

    def rule(fields: Fields) -> Callable[[int], bool]:
        step = fields.number("sliding_window_pattern", default)
        return lambda layer: (layer + 1) % step != 0

    return rule


def has_rope(fields: Fields) -> Callable[[int], bool]:
    """Layers with rotary positions, which have a 1 in no_rope_layers, despite its name."""
    interval, rope = fields.number("no_rope_layer_interval", 4), fields.indices("no_rope_layers")
    return lambda layer: bool(rope[layer] if layer < len(rope) else (layer + 1) % interval)


def without_rope(fields: Fields) -> Callable[[int], bool]:
    rope = has_rope(fields)
    return lambda layer: not rope(layer)


def switched(default: int | None) -> Callable[[Fields], int | None]:
    def window(fields: Fields) -> int | None:
        if not fields.flag(("use_sliding_window", False)):
            return None
        return fields.optional("sliding_window", default)

    return window


def after_first(fields: Fields) -> Callable[[int], bool]:
    first = fields.number("max_window_layers", 28, least=0)
    return lambda layer: layer >= first


def even_before_last(fields: Fields) -> Callable[[int], bool]:
    most = fields.number("max_window_layers", 28, least=0)
    return lambda layer: layer % 2 == 0 and layer < most


def stepped(fields: Fields) -> Callable[[int], bool]:
    step, plain = fields.number("decoder_sparse_step", 1), set(fields.indices("mlp_only_layers"))
    return lambda layer: layer not in plain and (layer + 1) % step == 0
