"""Features: into a learned map, selected by information gain, and from texts."""

from nearer.features.feature_map import FeatureMap
from nearer.features.information import InformationGain
from nearer.features.text import TextFeatures

__all__ = ["FeatureMap", "InformationGain", "TextFeatures"]
