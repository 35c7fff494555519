"""Your workload: kernels and steps from a profiler against what this machine can do.

A kernel has two answers. As written, the busiest unit of the device decides; rewritten, its bytes
and FLOPs do. An FMA counts as 2 FLOP. A count is known, known to be 0, or not known; what is known
caps what there is to gain, and nothing else is claimed.

Each instant of a step has one owner: compute, else a collective, else a copy, else nobody. What
activities own is compared with the least time that this machine needs for it, and a gap has a
cause. The parts add up to the step, in whole nanoseconds.
"""
