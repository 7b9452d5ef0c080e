"""Pictures of 101 kinds of objects (Caltech-101), described by MobileNetV2: features that were computed for nearer.

The network was trained on ImageNet, whose labels include some of the classes.
"""

from nearer.datasets.feature_set import FeatureSet, feature_set
from nearer.datasets.source import Source

__all__ = ["SOURCE", "load_caltech101"]

SOURCE = Source(
    name="caltech101",
    kind="features",
    content="features of pictures of 101 kinds of objects and of backgrounds, by MobileNetV2",
    size="9,144 rows, 1,280 features, 102 classes",
    license="none stated with the copy of the pictures; Apache 2.0 (network).",
    citation="Fei-Fei, Fergus and Perona, Learning generative visual models from few training examples, CVPR "
    "workshop 2004; Sandler et al., MobileNetV2: inverted residuals and linear bottlenecks, CVPR 2018.",
    path="caltech101_mobilenetv2/caltech101_mnv2.npz",
    arrays=("X", "y", "classes", "dequant_scale"),
    sha256="aadea31de259aaa60f47f5b22b603003a3e462753fff4e1fff1f50fa9939f87b",
    by_hand="the file is not published, and cannot be remade to the last bit: "
    "the features were computed from the pictures of github.com/MachineLearning2020/Homework2-Caltech101 at "
    "836044dd000296b2bb74d0aa4b4e462e459b01d7 with the network mobilenet_v2_1.0_224_quant.tflite of "
    "github.com/google-coral/test_data: the tensor MobilenetV2/Logits/AvgPool, shortest side 256, center crop 224, "
    "RGB. The file has X (9144, 1280) as bytes, y, classes and dequant_scale.",
    stand_in="stands in for Caltech-256 of the SDCA paper and for SUN397 of the SVRG-SBB paper, whose features are "
    "not public",
)


def load_caltech101(download: bool = False, verbose: bool = True) -> FeatureSet:
    """Load features of pictures of objects.

    Parameters
    ----------
    download : bool, default=False
        Has no effect: the file has to be put into its folder by hand.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    FeatureSet
        Features, not scaled: multiplied by 0.0235 they are the network's. Class 0 is of backgrounds.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["caltech101"].size
    '9,144 rows, 1,280 features, 102 classes'
    """
    return feature_set(SOURCE.load(download, verbose))
