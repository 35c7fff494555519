"""Where the time of a step goes: a profiler's timeline against what the machine can do.

Each instant of a device has one owner: compute, else a collective, else a copy, else nobody. What
activities own is held against the least time that this machine needs for it, and what nobody owns
has a cause. The parts add up to the step, in whole nanoseconds.
"""

from peakline.trace.advice import Advice, advice
from peakline.trace.analysis import Analysis, analyze
from peakline.trace.document import document
from peakline.trace.model import TraceError
from peakline.trace.part import Part
from peakline.trace.sawtooth import Sawtooth, sawtooth
from peakline.trace.text import RULES, headline, lines, losses, said, spread, table
from peakline.trace.waterfall import Waterfall
