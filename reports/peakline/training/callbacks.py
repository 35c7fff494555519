"""StepTimer callbacks for Lightning and Hugging Face's Trainer."""

from typing import Any

from peakline.training.step_timer import StepTimer


def lightning_callback(timer: StepTimer) -> Any:
    """A Lightning callback that logs the figures of each finished batch. A step of the timer is a
    batch; validations and checkpoints are left out."""
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback  # type: ignore[assignment, unused-ignore]

    class PeaklineCallback(Callback):  # type: ignore[misc, unused-ignore]
        def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any, **__: Any) -> None:
            figures = timer.step()
            if figures:
                pl_module.log_dict(figures, rank_zero_only=True)

        def pause(self, *_: Any, **__: Any) -> None:
            timer.pause()

        on_validation_start = on_save_checkpoint = on_train_epoch_start = pause

    return PeaklineCallback()


def trainer_callback(timer: StepTimer) -> Any:
    """A TrainerCallback of Hugging Face's transformers that adds figures to training logs.

    They appear in the Trainer's output and in its `log_history`. The loggers of `report_to` have
    logged by then; give the timer a sink for them, such as `tensorboard`. A step of the timer is an
    optimizer step with all its micro-batches; evaluations and checkpoints are left out.
    """
    from transformers import TrainerCallback

    class PeaklineCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            timer.step()

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            """Adds the figures of the last finished step to a training log."""
            for target in (logs, state.log_history[-1] if state.log_history else None):
                if isinstance(target, dict) and "loss" in target:
                    target.update(timer.latest)

        def pause(self, *_: Any, **__: Any) -> None:
            timer.pause()

        on_evaluate = on_save = pause

    return PeaklineCallback()
