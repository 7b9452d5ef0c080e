"""The file of a learned model, or of a pipeline of them: arrays and JSON, no pickle."""

from nearer.models.loading import load_model
from nearer.models.saving import FORMAT, SavedModel, save_model

__all__ = ["FORMAT", "SavedModel", "load_model", "save_model"]
