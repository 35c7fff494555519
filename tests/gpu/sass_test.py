"""SASS of the kernels: python sass_test.py CUOBJDUMP EXECUTABLE.

The rates that peakline reports hold only if the compiler emitted the intended instructions: loops
of nothing but FMAs, uninterrupted matrix instructions, wide loads, a branch per path, no spills.
"""

import json
import re
import subprocess
import sys
from itertools import pairwise, product
from typing import NamedTuple


class Operation(NamedTuple):
    """One instruction, at its address in bytes; a jump has a target."""

    address: int
    predicated: bool
    opcode: str  # with modifiers
    target: int | None


Kernels = dict[str, list[Operation]]  # by mangled name

# Matrix instructions by format, named as the kernels' template arguments.
MMA_SYNC = {
    "Fp16": "HMMA",
    "Fp16Acc16": "HMMA",
    "Bf16": "HMMA",
    "Tf32": "HMMA",
    "Fp64": "DMMA",
    "Int8": "IMMA",
    "Fp8": "QMMA",
}
WGMMA = {
    "Fp16": "HGMMA.64x256x16.F32",
    "Fp16Acc16": "HGMMA.64x256x16.F16",
    "Bf16": "HGMMA.64x256x16.F32.BF16",
    "Tf32": "HGMMA.64x256x8.F32.TF32",
    "Fp8": "QGMMA.64x256x32.F32.E4M3.E4M3",
    "Int8": "IGMMA.64x256x32.S8.S8",
}
WGMMAS_A_TRIP = 16
# Bodies of this size run at full speed from the instruction caches of an H200 when each warp runs
# another one; twice as much does not.
PATHS = 32
FMAS_A_PATH = 4 * 16
DIVERGENCE_BYTES = 40 * 1024
# The SASS of a step of each instruction on 9.0; COMES_WITH adds more.
INSTRUCTIONS = {
    "Fp32Add": ("FADD",),
    "Fp32Mul": ("FMUL",),
    "Fp32Fma": ("FFMA",),
    "Fp64Add": ("DADD",),
    "Fp64Mul": ("DMUL",),
    "Fp64Fma": ("DFMA",),
    # Alternate between both pipes.
    "Fp16x2Add": ("HADD2", "HFMA2.MMA"),
    "Fp16x2Mul": ("HMUL2", "HFMA2.MMA"),
    "Fp16x2Fma": ("HFMA2",),
    "Int32Add": ("IADD3",),
    "Int32Mad": ("IMAD",),
    "Int32Shift": ("SHF.L",),
    "Int32Logic": ("LOP3",),
    "Int32Dot": ("IDP.4A",),
    "Rcp": ("MUFU.RCP",),
    "Rsqrt": ("MUFU.RSQ",),
    "Sin": ("MUFU.SIN",),
    "Ex2": ("MUFU.EX2",),
    "Lg2": ("MUFU.LG2",),
    "Tanh": ("MUFU.TANH",),
    "Fp16ToFp32": ("HADD2.F32",),
    "Fp32ToFp16x2": ("F2FP.F16.F32.PACK_AB",),
    "Fp32ToBf16x2": ("F2FP.BF16.F32.PACK_AB",),
    "Fp32ToE4m3x2": ("F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C",),
    "E4m3x2ToFp16x2": ("F2FP.F16.E4M3.UNPACK_B",),
    "Fp32ToInt32": ("F2I.TRUNC",),
    "Int32ToFp32": ("I2FP.F32.S32",),
    "Fp32ToFp64": ("F2F.F64.F32",),
    "Fp64ToFp32": ("F2F.F32.F64",),
    "Shuffle": ("SHFL.IDX",),
    "Vote": ("VOTE.ALL",),
    "Match": ("MATCH.ANY",),
    "Reduce": ("REDUX.SUM",),
    "LoadMatrix": ("LDSM.16.M88.4",),
}
# Conversions of radians to turns, and of a uniform register to an ordinary one.
COMES_WITH = {"Sin": ("FMUL.RZ",), "Reduce": ("MOV", "IMAD.U32")}
INSTRUCTIONS_A_STEP = {"Fp32ToE4m3x2": 2}
CHAINS = {"Vote": 4}
THROUGHPUT_STEPS, LATENCY_STEPS = 128, 1024
# SASS of an operation, by kernel, type and scope as in template arguments.
ATOMICS = {
    "globalINS0_7atomics3AddIiLNS2_5ScopeE0": "REDG.E.ADD.STRONG.SM",
    "globalINS0_7atomics3AddIiLNS2_5ScopeE1": "REDG.E.ADD.STRONG.GPU",
    "globalINS0_7atomics3AddIiLNS2_5ScopeE2": "REDG.E.ADD.STRONG.SYS",
    "globalINS0_7atomics3AddIyL": "REDG.E.ADD.64.STRONG.GPU",
    "globalINS0_7atomics3AddIfLNS2_5ScopeE0": "REDG.E.ADD.F32.FTZ.RN.STRONG.SM",
    "globalINS0_7atomics3AddIfLNS2_5ScopeE1": "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU",
    "globalINS0_7atomics3AddIfLNS2_5ScopeE2": "REDG.E.ADD.F32.FTZ.RN.STRONG.SYS",
    "globalINS0_7atomics3AddIdLNS2_5ScopeE0": "REDG.E.ADD.F64.RN.STRONG.SM",
    "globalINS0_7atomics3AddIdLNS2_5ScopeE1": "REDG.E.ADD.F64.RN.STRONG.GPU",
    "globalINS0_7atomics3AddIdLNS2_5ScopeE2": "REDG.E.ADD.F64.RN.STRONG.SYS",
    "globalINS0_7atomics17AddHalvesInGlobal": "REDG.E.ADD.F16x2.RN.STRONG.GPU",
    "globalINS0_7atomics14CompareAndSwap": "ATOMG.E.CAS.STRONG.GPU",
    "sharedINS0_7atomics3AddIiL": "ATOMS.ADD",
    # Loops of a compare-and-swap.
    "sharedINS0_7atomics3AddIyL": "ATOMS.CAST.SPIN.64",
    "sharedINS0_7atomics3AddIfL": "ATOMS.CAST.SPIN",
    "sharedINS0_7atomics3AddIdL": "ATOMS.CAST.SPIN.64",
    "sharedINS0_7atomics3AddI7__half2L": "ATOMS.CAST.SPIN",
    "sharedINS0_7atomics14CompareAndSwap": "ATOMS.CAS",
}
ATOMICS_A_TRIP = 8
# Dependent loads per trip.
CHASE_UNROLL = 32
# Barriers per branch.
MEETINGS_A_TRIP = 16
GRID_MEETINGS_A_TRIP = 2
# Loads in flight per thread.
GATHERS_A_TRIP = 4
# Loads of a tile per thread, by mangled element type.
TRANSPOSE_LOADS = {"t": 4, "j": 2}
# Mangled names of the kernels that were checked.
LOOKED_AT: set[str] = set()
# Kernels that prepare, verify or do nothing, and kernels that only move data, whose measured rates
# show wrong code.
NEED_NO_LOOK = (
    "fill_",
    "touch_",
    "reference",
    "read_clocks",
    "gemm_reference",
    "block_gemm_reference",
    "gather_elements",  # verified on the host
    "start_log",  # from here to check_product: look for wrong bits
    "compare_vectors",
    "write_pattern",
    "replace_pattern",
    "check_shared",
    "pack_lines",
    "check_tile",
    "check_product",
    "empty",
    "signal_after",
    "ping",
    "pong",
    "sms_",
    "strided_read",
    "stream_read",
    "stream_write",
    "stream_copy",
    "stream_triad",
    "update_in_place",
    "roofline_sweep",
    "sum_arrays",
    "cached_read",
    "dsmem_read",
    "meetings",
    "copy_",
)
# The compiler fills issue slots of a matrix instruction with these.
FILLERS = ("NOP", "UIADD3")


def functions(cuobjdump: str, executable: str) -> dict[str, Kernels]:
    """The kernels of each architecture ("sm_90a")."""
    text = subprocess.run(
        [cuobjdump, "--dump-sass", executable], check=True, capture_output=True, text=True
    ).stdout
    found: dict[str, Kernels] = {}
    kernels: Kernels = {}
    current: list[Operation] | None = None
    for line in text.splitlines():
        if match := re.match(r"\s*code for (sm_\w+)", line):
            kernels = found.setdefault(match[1], {})
        elif match := re.match(r"\s*Function : (\S+)", line):
            current = None if match[1] in kernels else kernels.setdefault(match[1], [])
        elif current is not None:
            instruction = re.match(
                r"\s*/\*([0-9a-f]{4,})\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)(?:.*?\b0x([0-9a-f]+) ?;)?",
                line,
            )
            if instruction:
                address, predicate, opcode, target = instruction.groups()
                jump = opcode.startswith("BRA") and target is not None
                current.append(
                    Operation(
                        int(address, 16),
                        predicate is not None,
                        opcode,
                        int(target, 16) if jump else None,
                    )
                )
    return found


def chosen(kernels: Kernels, *parts: str) -> list[list[Operation]]:
    """The kernels whose mangled names contain all parts; at least one."""
    found = {name: ops for name, ops in kernels.items() if all(part in name for part in parts)}
    assert found, f"no kernel named like {parts}"
    LOOKED_AT.update(found)
    return list(found.values())


def only(kernels: Kernels, *parts: str) -> list[list[str]]:
    """The opcodes of the chosen kernels."""
    return [[op.opcode for op in operations] for operations in chosen(kernels, *parts)]


# Not timed; it takes as many warps as fit, and so few registers per thread.
MAY_SPILL = "check_tile"


def check_spills(kernels: Kernels) -> None:
    for name, operations in kernels.items():
        if MAY_SPILL in name:
            continue
        spills = [op.opcode for op in operations if op.opcode.startswith(("LDL", "STL"))]
        assert not spills, f"{name} uses local memory: {spills[:3]}"


def has_mma_sync(version: int, template_argument: str) -> bool:
    """Whether architectures of this number have mma.sync of this format in hardware."""
    if template_argument == "Fp8":
        return version == 89 or version >= 120
    return version >= (75 if template_argument in ("Fp16", "Fp16Acc16", "Int8") else 80)


def check_mma_sync(architecture: str, kernels: Kernels) -> None:
    """The loop has every product of a trip and hardly anything else."""
    version = int(re.sub(r"\D", "", architecture))
    for template_argument, opcode in MMA_SYNC.items():
        mangled = f"mma_sync{len(template_argument)}{template_argument}E"
        for operations in only(kernels, "10mma_chains", mangled):
            where = f"mma_chains<{template_argument}> for {architecture}"
            places = [i for i, op in enumerate(operations) if op.split(".")[0] == opcode]
            if not has_mma_sync(version, template_argument):
                made_of = {op for op in operations if "MMA" in op}
                assert not made_of, f"{where}: {made_of} for an instruction that is not there"
                continue
            # Passes x steps x fragments; more where pieces make up the large instruction.
            least = 2 * 2 * (4 if opcode == "DMMA" else 8)
            if version < 80:
                least *= 4 if opcode == "IMMA" else 2
            if opcode == "DMMA" and version // 10 != 9:
                least *= 8
            assert len(places) == least, f"{where}: {len(places)} {opcode}, not {least}"
            loop = operations[places[0] : places[-1] + 1]
            share = len(places) / sum(op not in FILLERS for op in loop)
            assert share > 0.7, f"{where}: {opcode} is {share:.0%} of its loop"


def check_wgmma(kernels: Kernels) -> None:
    """A trip is one unbroken group. A compiler that serializes (remark C7510, not a warning) waits
    after each instruction."""
    for template_argument, opcode in WGMMA.items():
        mangled = f"wgmma{len(template_argument)}{template_argument}E"
        for operations in only(kernels, "12wgmma_chains", mangled):
            where = f"wgmma_chains<{template_argument}>"
            places = [i for i, op in enumerate(operations) if op == opcode]
            assert len(places) == WGMMAS_A_TRIP, f"{where}: {len(places)} {opcode}"
            group = operations[places[0] : places[-1] + 1]
            waits = [op for op in group if op.startswith(("WARPGROUP", "WARPSYNC", "BAR"))]
            assert not waits, f"{where} is serialized: {waits[:3]}"
            others = [op for op in group if op != opcode and op not in FILLERS]
            assert len(others) < 8, f"{where}: {others} between {opcode}"


def check_divergence(operations: list[Operation]) -> None:
    """Each path is its own loop behind a branch; the code of all fits the instruction caches."""
    adds = [op for op in operations if op.opcode.split(".")[0] == "FFMA"]
    assert len(adds) == PATHS * FMAS_A_PATH, f"divergence: {len(adds)} FFMA"
    assert not any(op.predicated for op in adds), "divergence: predicated instead of branched"
    loops = [op for op in operations if op.target is not None and op.target < op.address - 16]
    assert len(loops) == PATHS, f"divergence: {len(loops)} loops for {PATHS} paths"
    sizes = [loop.address - (loop.target or 0) + 16 for loop in loops]
    beside = max(sizes) // 16 - FMAS_A_PATH
    assert beside <= 4, f"divergence: {beside} instructions a trip beside {FMAS_A_PATH} FMAs"
    size = operations[-1].address - operations[0].address
    assert size <= DIVERGENCE_BYTES, f"divergence: {size} bytes of code"


def check_cached(kernels: Kernels) -> None:
    """Loops over a cache or shared memory have the intended accesses; cache loads all precede
    the first use."""
    expected = {
        "cached_readINS0_9ThroughL1EjLi{}E": ("LDG.E", (8, 16)),
        "cached_readINS0_9ThroughL1E5uint2Li{}E": ("LDG.E.64", (4, 8)),
        "cached_readINS0_9ThroughL1E5uint4Li{}E": ("LDG.E.128", (4,)),
        # .STRONG.GPU bypasses the L1.
        "cached_readINS0_9ThroughL2E5uint4Li{}E": ("LDG.E.128.STRONG.GPU", (8,)),
        "l2_readILi{}E": ("LDG.E.128.STRONG.GPU", (1, 2, 4, 8)),
        "l2_writeILi{}E": ("STG.E.128.STRONG.GPU", (1, 2, 4)),
        "shared_readILi{}E": ("LDS.128", (2, 4, 8)),
        "shared_writeILi{}E": ("STS.128", (2, 4, 8)),
        "shared_conflicts": ("LDS", (4,)),
        "dsmem_readILi8ELi{}E": ("LD.E.128", (4,)),
    }
    for name, (opcode, unrolls) in expected.items():
        for unroll in unrolls:
            for operations in chosen(kernels, name.format(unroll)):
                accesses = in_loops(operations, opcode)
                assert len(accesses) == unroll, f"{name.format(unroll)}: {len(accesses)} {opcode}"
                between = [
                    op.opcode
                    for op in operations
                    if accesses[0].address < op.address < accesses[-1].address
                ]
                # The trip counter may be between them; a use takes more instructions.
                uses = sum(op.startswith(("IADD3", "BAR", "BRA")) for op in between)
                assert not opcode.startswith("LDG") or uses <= 1, (
                    f"{name.format(unroll)}: {between}"
                )


def in_loops(operations: list[Operation], opcode: str) -> list[Operation]:
    """The instructions of this opcode inside loops."""
    loops = [(op.target, op.address) for op in operations if op.target is not None]
    return [
        op
        for op in operations
        if op.opcode == opcode and any(first <= op.address < last for first, last in loops)
    ]


def largest_loop(operations: list[Operation]) -> list[str]:
    """The opcodes of the longest loop."""
    jumps = [op for op in operations if op.target is not None and op.target < op.address]
    last = max(jumps, key=lambda jump: jump.address - (jump.target or 0))
    return [op.opcode for op in operations if (last.target or 0) <= op.address <= last.address]


def is_one_of(opcode: str, names: tuple[str, ...]) -> bool:
    return any(opcode == name or opcode.startswith(f"{name}.") for name in names)


def check_instructions(kernels: Kernels) -> None:
    """The loop has one of the named instructions per step, and hardly anything else."""
    for kernel, unroll in (("throughput", THROUGHPUT_STEPS), ("latency", LATENCY_STEPS)):
        for op, names in INSTRUCTIONS.items():
            chains = CHAINS.get(op, 8) if kernel == "throughput" else 1
            expected = unroll * chains * INSTRUCTIONS_A_STEP.get(op, 1)
            mangled = f"11instruction{len(op)}{op}E"
            for operations in chosen(kernels, f"instruction_{kernel}", mangled):
                where = f"instruction_{kernel}<{op}>"
                loop = [opcode for opcode in largest_loop(operations) if opcode not in FILLERS]
                named = [opcode for opcode in loop if is_one_of(opcode, names)]
                assert len(named) == expected, f"{where}: {len(named)} {names}, not {expected}"
                others = [opcode for opcode in loop if not is_one_of(opcode, names)]
                wanted = [opcode for opcode in others if is_one_of(opcode, COMES_WITH.get(op, ()))]
                assert abs(len(wanted) - expected * (op in COMES_WITH)) <= chains, (
                    f"{where}: {len(wanted)} {COMES_WITH.get(op)} beside {expected}"
                )
                beside = len(others) - len(wanted)
                assert beside <= 0.03 * expected, f"{where}: {beside} others beside {expected}"


def check_all_reduces(kernels: Kernels) -> None:
    """Ranks send 16 bytes to each other and sum what every rank sent; each announcement is one
    fence and one flag."""
    for name, announcements in (("one_shot", 1), ("two_shot", 2)):
        for ranks in range(2, 9):
            for operations in only(kernels, f"{name}_all_reduceILi{ranks}E"):
                expected = {
                    "LDG.E.128.STRONG.GPU": ranks,
                    "STG.E.128": announcements * ranks + (announcements == 1),
                    "MEMBAR.ALL.SYS": announcements,
                    "STG.E.STRONG.SYS": announcements,
                }
                found = {opcode: operations.count(opcode) for opcode in expected}
                assert found == expected, f"{name}_all_reduce<{ranks}>: {found}, not {expected}"


def check_moves_of_blocks(kernels: Kernels) -> None:
    """A warp issues all loads of 16 bytes before its first store."""
    for operations in only(kernels, "11move_blocks"):
        moved = [op for op in operations if op in ("LDG.E.EF.128", "STG.E.EF.128")]
        expected = 8 * ["LDG.E.EF.128"] + 8 * ["STG.E.EF.128"]
        assert moved == expected, f"move_blocks: {moved}"


def check_transpositions(kernels: Kernels) -> None:
    """Each vector takes one load and one store of 16 bytes."""
    for element, vectors in TRANSPOSE_LOADS.items():
        for operations in only(kernels, f"9transposeI{element}E"):
            for opcode in ("LDG.E.128", "STG.E.128"):
                count = operations.count(opcode)
                assert count == vectors, f"transpose<{element}>: {count} {opcode}"


def check_that_all_are_known(kernels: Kernels, executable: str) -> None:
    """Every kernel was checked or needs no check; every registered instruction and atomic operation
    has a kernel."""
    for name in kernels:
        # Mangled identifiers follow their lengths.
        known = name in LOOKED_AT or re.search(rf"\d({'|'.join(NEED_NO_LOOK)})", name)
        assert known, f"say what this kernel should compile to: {name}"
    listed = subprocess.run([executable, "list", "--json"], check=True, capture_output=True).stdout
    points = {b["id"]: [p["params"] for p in b["points"]] for b in json.loads(listed)["benchmarks"]}
    for id_, kernel in (
        ("instruction.throughput", "instruction_throughput"),
        ("instruction.latency", "instruction_latency"),
        ("atomics.global", "atomics_global"),
        ("atomics.shared", "atomics_shared"),
    ):
        registered = {(p["op"], p.get("scope")) for p in points[id_]}
        compiled = [name for name in kernels if f"{len(kernel)}{kernel}I" in name]
        assert len(registered) == len(compiled), f"{id_}: {len(compiled)} kernels for {registered}"


def check_atomics(kernels: Kernels) -> None:
    """Each operation of the source is one of the named instruction; none are merged."""
    for mangled, opcode in ATOMICS.items():
        for loop in map(largest_loop, chosen(kernels, f"atomics_{mangled}")):
            count = loop.count(opcode)
            assert count == ATOMICS_A_TRIP, f"atomics_{mangled}: {count} {opcode} in {loop}"


def check_pipelines(kernels: Kernels) -> None:
    """Multiply-adds on a batch are not folded; a fused chain loads all arrays before the first use;
    each meeting is one barrier."""
    for loop in in_loops_of(kernels, "IMAD", "13work_on_batch"):
        assert len(loop) >= 16, f"work_on_batch: {len(loop)} IMAD"
    for arrays in (3, 5, 9):
        for operations in only(kernels, f"10sum_arraysILi{arrays}ELi2E"):
            longest = longest_run(operations, "LDG", ("FADD",))
            assert longest == 2 * arrays, f"sum_arrays<{arrays}>: {longest} loads in flight"
    for loop in in_loops_of(kernels, "BAR.SYNC.DEFER_BLOCKING", "8meetings", "12BlockBarrierELb0"):
        # One more in the loop over the remainder.
        assert len(loop) == MEETINGS_A_TRIP + 1, f"meetings: {len(loop)} barriers"

    for operations in only(kernels, "8meetings", "11GridBarrierELb0"):
        arrivals = operations.count("ATOM.E.ADD.STRONG.GPU")
        polls = operations.count("LD.E.STRONG.GPU")
        assert arrivals == polls >= GRID_MEETINGS_A_TRIP, f"meetings: {arrivals}, {polls} of a grid"


def in_loops_of(kernels: Kernels, opcode: str, *parts: str) -> list[list[Operation]]:
    return [in_loops(operations, opcode) for operations in chosen(kernels, *parts)]


def check_pipelines_of_hopper(kernels: Kernels) -> None:
    """A cluster's meeting is one barrier, with or without a fence; a dependent kernel lets the next
    one start before it waits for the previous one."""
    for barrier, with_fence in (("14ClusterBarrier", True), ("21RelaxedClusterBarrier", False)):
        for operations in only(kernels, "8meetings", f"{barrier}ELb0"):
            arrivals, waits = (operations.count("UCGABAR_ARV"), operations.count("UCGABAR_WAIT"))
            assert arrivals == waits >= MEETINGS_A_TRIP, f"{barrier}: {arrivals} and {waits}"
            fences = sum(op.startswith("MEMBAR") for op in operations)
            assert fences == arrivals * with_fence, f"{barrier}: {fences} fences"
    for operations in only(kernels, "13count_in_turn"):
        order = [op for op in operations if op in ("PREEXIT", "ACQBULK") or op.startswith("LDG")]
        assert order == ["PREEXIT", "ACQBULK", "LDG.E"], f"count_in_turn: {order}"


def longest_run(
    operations: list[str], load: str, uses: tuple[str, ...], width: str = ".128"
) -> int:
    """The longest run of loads of this width without a use of a loaded value."""
    places = [i for i, op in enumerate(operations) if op.split(".")[0] in uses]
    wide = [i for i, op in enumerate(operations) if op.startswith(load) and width in op]
    ends = pairwise([-1, *places, len(operations)])
    return max(sum(a < i < b for i in wide) for a, b in ends)


def check_gather(loop: list[str]) -> None:
    """All words are folded, two at a time, after the last load."""
    loads = [i for i, op in enumerate(loop) if op.startswith("LDG.E.128")]
    assert len(loads) == GATHERS_A_TRIP, f"random_gather: {len(loads)} loads a trip"
    folds = sum(op.startswith("LOP3") for op in loop[loads[-1] :])
    assert folds >= 2 * GATHERS_A_TRIP, f"random_gather: {folds} folds after the last load"


def check_copies(kernels: Kernels) -> None:
    """A trip copies one tile by the named instruction: several per lane, or one per tile."""
    by_lane = {"Plain": "LDG.E.128.STRONG.GPU", "CpAsync": "LDGSTS.E.BYPASS.128"}
    by_unit = {"Bulk": "UBLKCP.S.G", "Tensor1d": "UTMALDG.1D", "Tensor2d": "UTMALDG.2D"}
    for (way, opcode), kernel in product((by_lane | by_unit).items(), ("tiles", "walk")):
        for tile_bytes in (128, 512, 2048, 8192):
            mangled = f"copy_{kernel}INS1_{len(way)}{way}ILi{tile_bytes}E"
            copies = tile_bytes // 512 if way in by_lane else 1
            for operations in (ops for name, ops in kernels.items() if mangled in name):
                trips = [
                    [op.opcode for op in operations if jump.target <= op.address < jump.address]
                    for jump in operations
                    if jump.target is not None and jump.target < jump.address
                ]
                found = [
                    [op for op in trip if op.startswith(("LDG.", "LDGSTS", "UBLK", "UTMA"))]
                    for trip in trips
                ]
                assert [opcode] * copies in found, f"{mangled}: {found}"
                assert all(trip in ([], [opcode] * copies) for trip in found), f"{mangled}: {found}"
        assert chosen(kernels, f"copy_{kernel}INS1_{len(way)}{way}I")


def check_chase(operations: list[Operation], load: str) -> None:
    """The unrolled loops have CHASE_UNROLL loads and the trip counter."""
    loops = [op for op in operations if op.target is not None and op.target < op.address]
    bodies = [
        [op for op in operations if loop.target <= op.address < loop.address] for loop in loops
    ]
    unrolled = [b for b in bodies if sum(op.opcode == load for op in b) > 1]
    assert len(unrolled) == 2, f"chase: {len(unrolled)} loops of {load}"  # warm-up, measured
    for body in unrolled:
        loads = sum(op.opcode == load for op in body)
        assert loads == CHASE_UNROLL, f"chase: {loads} {load} a trip"
        assert len(body) <= CHASE_UNROLL + 6, f"chase: {len(body)} instructions a trip"


def main() -> None:
    by_architecture = functions(*sys.argv[1:3])
    assert by_architecture, "no device code found"
    for architecture, of_architecture in by_architecture.items():
        check_spills({name: ops for name, ops in of_architecture.items() if "mma" in name})
        check_mma_sync(architecture, of_architecture)
        if architecture == "sm_90a":
            check_wgmma(of_architecture)
            check_instructions(of_architecture)
            check_atomics(of_architecture)
            check_pipelines_of_hopper(of_architecture)
            check_copies(of_architecture)
            check_all_reduces(of_architecture)
            check_moves_of_blocks(of_architecture)
    # One architecture stands for all others, which have the same source.
    kernels = next(iter(by_architecture.values()))
    check_spills(kernels)
    chains_times_unroll = 8 * 128
    for element, opcode in (("If", "FFMA"), ("Id", "DFMA"), ("I7__half2", "HFMA2")):
        for operations in only(kernels, "fma_chains", element):
            places = [i for i, op in enumerate(operations) if op.split(".")[0] == opcode]
            assert len(places) >= chains_times_unroll, (
                f"fma_chains{element}: {len(places)} {opcode}"
            )
            share = len(places) / (places[-1] - places[0] + 1)
            assert share > 0.9, f"fma_chains{element}: {opcode} is {share:.0%} of its loop"
    for kernel, template, in_flight in (("read", "Li8E", 8), ("triad", "Li4E", 8)):
        for operations in only(kernels, f"stream_{kernel}I5uint4{template}"):
            longest = longest_run(operations, "LDG", ("LOP3", "FFMA"))
            assert longest >= in_flight, f"stream_{kernel}: {longest} loads in flight"
    for kernel in chosen(kernels, "10divergence"):
        check_divergence(kernel)
    check_cached(kernels)
    check_pipelines(kernels)
    for parts, opcode in (
        (("5chase", "GlobalLoad"), "LDG.E.64"),
        (("5chase", "L2Load"), "LDG.E.64.STRONG.GPU"),  # bypasses the L1
        (("12chase_shared",), "LDS"),
        (("13chase_cluster",), "LD.E.64"),
    ):
        for kernel in chosen(kernels, *parts):
            check_chase(kernel, opcode)
    for operations in only(kernels, "11touch_cycle"):
        assert any(op.startswith("LDG") for op in operations), "touch_cycle loads nothing"
    for in_flight in (1, 2, 4, 8):
        for operations in only(kernels, f"occupancy_readILi{in_flight}E"):
            longest = longest_run(operations, "LDG", ("LOP3",))
            assert longest == in_flight, f"occupancy_read: {longest} loads in flight"
        for chain in only(kernels, f"occupancy_fmaILi{in_flight}E"):
            adds = sum(op.split(".")[0] == "FFMA" for op in chain)
            assert adds >= 128 * in_flight, f"occupancy_fma: {adds} FFMA"
    for element, in_flight in (("j", 16), ("5uint2", 8), ("5uint4", 4)):
        for operations in only(kernels, f"12strided_readI{element}Li{in_flight}E"):
            longest = longest_run(operations, "LDG", ("LOP3",), width="")
            assert longest == in_flight, f"strided_read: {longest} loads in flight"
    for kernel in chosen(kernels, "13random_gather"):
        check_gather(largest_loop(kernel))
    check_transpositions(kernels)
    if "sm_90a" in by_architecture:
        check_that_all_are_known(by_architecture["sm_90a"], sys.argv[2])
    print(f"{len(kernels)} kernels looked at, architectures: {', '.join(by_architecture)}")


if __name__ == "__main__":
    main()
