"""Features on their way: into a learned map, by how much they tell about a class, and from texts."""

from nearer.features.feature_map import FeatureMap
from nearer.features.information import InformationGain
from nearer.features.text import TextFeatures

__all__ = ["FeatureMap", "InformationGain", "TextFeatures"]
