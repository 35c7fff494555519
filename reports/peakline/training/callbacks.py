"""A StepTimer in the loops of Lightning and of Hugging Face's Trainer."""

from __future__ import annotations

from typing import Any

from peakline.training.step_timer import StepTimer


def lightning_callback(timer: StepTimer) -> Any:
    """A callback of Lightning that logs the figures of each batch that was finished.

    A step of the timer is a batch. Validations and checkpoints between two of them are left out.
    """
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback  # type: ignore[assignment, unused-ignore]

    class PeaklineCallback(Callback):  # type: ignore[misc, unused-ignore]
        """Times the batches of the training loop."""

        def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any, **__: Any) -> None:
            """Marks the end of a batch."""
            figures = timer.step()
            if figures:
                pl_module.log_dict(figures, rank_zero_only=True)

        def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
            """Leaves the validation out."""
            timer.pause()

        def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> None:
            """Leaves the checkpoint out."""
            timer.pause()

        def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
            """Leaves out what lies between epochs."""
            timer.pause()

    return PeaklineCallback()


def trainer_callback(timer: StepTimer) -> Any:
    """A TrainerCallback of Hugging Face's transformers: training logs get the figures.

    They are in what the Trainer prints and in its `log_history`. What `report_to` names has logged
    before it: give the timer a sink for that, such as `tensorboard`. A step of the timer is one of
    the optimizer, of all micro-batches. Evaluations and checkpoints between two of them are left
    out.
    """
    from transformers import TrainerCallback

    class PeaklineCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
        """Times the steps of the Trainer."""

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            """Marks the end of a step."""
            timer.step()

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            """Adds the figures of the last finished step to what is logged of training."""
            for target in (logs, state.log_history[-1] if state.log_history else None):
                if isinstance(target, dict) and "loss" in target:
                    target.update(timer.latest)

        def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            """Leaves the evaluation out."""
            timer.pause()

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            """Leaves the checkpoint out."""
            timer.pause()

    return PeaklineCallback()
