"""Kernels and steps recorded by a profiler, compared with this machine's limits.

A kernel has two answers: as written, limited by its busiest unit; rewritten, limited by its bytes
and FLOPs. An FMA is 2 FLOP. A count is known, known to be 0, or unknown; known counts cap the
possible gain, and nothing more is claimed.

Each instant of a step has one owner: compute, else a collective, else a copy, else nobody.
Activities are compared with the least time that this machine needs for them, and gaps have causes.
The parts add up to the step, in whole nanoseconds.
"""
