"""Utilization in a training loop: a timer of steps, where its figures go, and callbacks."""

from peakline.training.callbacks import lightning_callback, trainer_callback
from peakline.training.sinks import prometheus, tensorboard
from peakline.training.step_timer import StepTimer
