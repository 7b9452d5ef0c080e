"""The file of a learned model: arrays and JSON, no pickle."""

from nearer.models.saved import FORMAT, MODELS, SavedModel, load_model, save_model

__all__ = ["FORMAT", "MODELS", "SavedModel", "load_model", "save_model"]
