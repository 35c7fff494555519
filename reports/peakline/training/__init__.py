"""Utilization in a training loop: a step timer, sinks for its figures, and callbacks."""

from peakline.training.callbacks import lightning_callback, trainer_callback
from peakline.training.sinks import prometheus, tensorboard
from peakline.training.step_timer import StepTimer
