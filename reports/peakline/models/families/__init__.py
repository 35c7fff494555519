"""The families of models whose config.json can be read: a file a maker, a row a family.

Fields and defaults are those of the classes of `transformers`; parameters equal those of its
...ForCausalLM exactly.
"""

from collections.abc import Mapping

from peakline.models.families import (
    deepseek,
    gemma,
    gpt,
    llama,
    mimo,
    minimax,
    nemotron,
    others,
    qwen,
    step,
)
from peakline.models.layers import Family

FAMILIES: Mapping[str, Family] = {
    name: family
    for maker in (deepseek, gemma, gpt, llama, mimo, minimax, nemotron, others, qwen, step)
    for name, family in maker.FAMILIES.items()
}
