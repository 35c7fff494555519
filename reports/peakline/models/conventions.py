"""Conventions of projects for counting a decoder's FLOPs.

All count 2 FLOP for an FMA and three forward passes for a training step: FLOPs per token = 6 N + 12
L H Q T, with L layers, H heads, Q dimensions of a head (the mean of keys and values) and T tokens
of a sequence. They differ in N and in the share of the attention matrix.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Convention:
    text: str
    counts_input_embedding: bool = False
    counts_small: bool = True  # norms, biases, routers
    causal: bool = False  # half of the attention matrix
    # Count only the keys in sliding windows, chunks and sparse attention.
    windows: bool = False
    states: bool = False  # layers that keep a state


CONVENTIONS: Mapping[str, Convention] = {
    "palm": Convention(
        "6 N + 12 L H Q T, N without an untied input embedding, which no GEMM uses "
        "(arXiv:2204.02311, appendix B; PaLM ties its own); in a layer with a window, T is what a "
        "token sees",
        windows=True,
    ),
    "torchtitan": Convention(
        "6 N + 12 L H Q T, N without an untied input embedding, T the whole sequence, as "
        "torchtitan 0.3.0 (0.2 left out a tied one too, and with it the output's product)"
    ),
    "megatron": Convention(
        "6 N + 6 L H Q T, N the weights of GEMMs alone: half of the attention matrix, T the "
        "whole sequence, as Megatron-LM's num_floating_point_operations; it alone counts layers "
        "that keep a state: 7 FLOP an element (Mamba), 8 (gated delta rule)",
        counts_small=False,
        causal=True,
        states=True,
    ),
    "nanogpt": Convention(
        "6 N + 12 L H Q T, N all parameters but those of positions", counts_input_embedding=True
    ),
}


def rule_of(convention: str) -> Convention:
    if convention not in CONVENTIONS:
        raise ValueError(f"unknown convention {convention!r}: use one of {', '.join(CONVENTIONS)}")
    return CONVENTIONS[convention]
