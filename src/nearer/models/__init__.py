"""The file of a learned model, or of several in a row: arrays and JSON, no pickle."""

from nearer.models.loading import load_model
from nearer.models.pipelines import fitted_pipeline
from nearer.models.saved import FORMAT, MODELS, SavedModel, save_model

__all__ = ["FORMAT", "MODELS", "SavedModel", "fitted_pipeline", "load_model", "save_model"]
