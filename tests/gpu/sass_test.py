"""What the compiler made of the kernels: python sass_test.py CUOBJDUMP EXECUTABLE.

The rates that peakline reports hold only if the instructions are the ones that were meant: packed
or fused multiply-adds and nothing else in the loop, wide loads, a branch for each path, no spills.
"""

import re
import subprocess
import sys
from collections import Counter


def functions(cuobjdump: str, executable: str) -> dict[str, list[str]]:
    """Mangled name -> opcodes (with modifiers) of each kernel, of one architecture."""
    text = subprocess.run(
        [cuobjdump, "--dump-sass", executable], check=True, capture_output=True, text=True
    ).stdout
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        if match := re.match(r"\s*Function : (\S+)", line):
            # The first architecture will do: all are made from the same source.
            current = None if match[1] in found else found.setdefault(match[1], [])
        elif current is not None:
            instruction = re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", line)
            if instruction:
                current.append(instruction[1])
    return found


def only(kernels: dict[str, list[str]], *parts: str) -> list[list[str]]:
    """The kernels whose mangled names contain all parts; at least one."""
    chosen = [ops for name, ops in kernels.items() if all(part in name for part in parts)]
    assert chosen, f"no kernel named like {parts}"
    return chosen


def main() -> None:
    kernels = functions(*sys.argv[1:3])
    assert kernels, "no device code found"
    for name, operations in kernels.items():
        spills = [op for op in operations if op.startswith(("LDL", "STL"))]
        assert not spills, f"{name} uses local memory: {spills[:3]}"
    chains_times_unroll = 8 * 32
    for element, opcode in (("If", "FFMA"), ("Id", "DFMA"), ("I7__half2", "HFMA2")):
        for operations in only(kernels, "fma_chains", element):
            places = [i for i, op in enumerate(operations) if op.split(".")[0] == opcode]
            assert len(places) >= chains_times_unroll, (
                f"fma_chains{element}: {len(places)} {opcode}"
            )
            share = len(places) / (places[-1] - places[0] + 1)
            assert share > 0.9, f"fma_chains{element}: {opcode} is {share:.0%} of its loop"
    for operations in only(kernels, "stream_read", "5uint4"):
        loads = Counter(op for op in operations if op.startswith("LDG"))
        assert any(".128" in op for op in loads), f"no 16-byte loads: {loads}"
    for operations in only(kernels, "divergence"):
        branches = sum(op.split(".")[0] == "BRA" for op in operations)
        assert branches >= 32, f"divergence: only {branches} branches for 32 paths"
    print(f"{len(kernels)} kernels looked at")


if __name__ == "__main__":
    main()
