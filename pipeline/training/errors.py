"""Errors of training."""

from pipeline.errors import KinoflowError


class TrainingError(KinoflowError):
    """Training that cannot go on."""


class Interrupted(TrainingError):
    """Training that was asked to stop and has written a checkpoint; running it again goes on from there."""
