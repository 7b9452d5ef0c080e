"""Tests of cblearn and metric-learn, from their source distributions, run against nearer through the adapters here.

They are downloaded into a temporary folder: nothing of them is part of this repository. Only with ``NEARER_PEERS=1``.
``DIFFERENT`` names the tests that fail by intent; ``docs/peers.md`` says why.
"""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.skipif(
    os.environ.get("NEARER_PEERS") != "1", reason="downloads the sources of peers: NEARER_PEERS=1 runs them"
)
HERE = Path(__file__).parent

# By peer: what to download, the files of tests that apply, and which of their tests do not (as pytest's -k).
PEERS = {
    "cblearn": (
        "cblearn==0.4.0",
        [
            "cblearn/datasets/tests/test_triplet_indices.py",
            "cblearn/datasets/tests/test_triplet_response.py",
            "cblearn/metrics/tests/test_procrustes.py",
            "cblearn/metrics/tests/test_triplets.py",
            "cblearn/preprocessing/tests/test_query.py",
        ],
        (),
    ),
    "metric_learn": (
        "metric-learn==0.7.0",
        [
            "test/test_base_metric.py",
            "test/test_components_metric_conversion.py",
            "test/test_fit_transform.py",
            "test/test_mahalanobis_mixin.py",
            "test/test_pairs_classifiers.py",
            "test/test_quadruplets_classifiers.py",
            "test/test_sklearn_compat.py",
            "test/test_triplets_classifiers.py",
        ],
        (
            *("validate_calibration_params", "edge_cases", "matrix_raises", "psd"),  # of private functions
            *("TestStringRepr", "score_pairs_warning", "big_number"),  # names, deprecations and a basis of its own
            # learners of its own
            *("test_cov", "lfda", "lsml_supervised", "mlkr", "mmc", "nca", "sdml", "test_scml"),
            "(TestSklearnCompat and test_lsml)",
        ),
    ),
}
# By peer: a pattern of the names of tests that fail by intent, and the difference.
DIFFERENT = {
    "cblearn": {
        r"test_triplet_error\[tensor-count\]": "answers are no sparse tensors",
        "test_triplet_scorer": "score is a method of every model, so there is no scorer",
    },
    "metric_learn": {
        r"test_(embed|pair_distance)_dim\[.*": "texts of errors",
        r"test_(set_wrong_type|unset)_threshold(\[.*)?": "texts of errors",
        r"test_raise_not_fitted_error_if_not_fitted\[.*": "predict is there with a threshold only",
        r"test_calibrate_threshold_invalid_parameters_right_error\[.*": "texts of errors",
        r"test_calibrate_threshold_valid_parameters\[valid_args(9|10)\]": "a negative beta is refused",
        r"test_singular_array_init_or_prior_strictpd\[.*": "a singular prior is a ValueError with another text",
        r"test_singular_covariance_init_or_prior_strictpd\[.*": "a singular covariance has a pseudo-inverse",
        r"test_deterministic_initialization\[ITML.*": "there is no random prior",
        r"test_n_components\[.*": "texts of errors",
        r"test_get_metric_works_does_not_raise\[.*": "components_ is a matrix and vectors are no scalars",
        r"test_pipeline_consistency\[ITML-.*": "ITML transforms objects, also when it has learned from pairs",
    },
}


@pytest.fixture
def source(request, tmp_path):
    """The unpacked source distribution of a peer."""
    requirement = PEERS[request.param][0]
    pip = [sys.executable, "-m", "pip", "download", "--no-binary", ":all:", "--no-deps", "--dest", str(tmp_path)]
    got = subprocess.run([*pip, requirement], capture_output=True, text=True, timeout=300)
    if got.returncode:
        pytest.skip(f"{requirement} cannot be downloaded: {got.stderr.strip().splitlines()[-1:]}")
    archive = next(tmp_path.glob("*.tar.gz"))
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    return request.param, archive.with_suffix("").with_suffix("").parent / archive.name.removesuffix(".tar.gz")


@pytest.mark.parametrize("source", PEERS, indirect=True)
def test_peers_own_tests_pass_but_for_named_differences(source, tmp_path):
    peer, folder = source
    _, files, not_applicable = PEERS[peer]
    if peer == "cblearn":  # beside its package, which the adapter stands in for
        loose = tmp_path / "loose"
        loose.mkdir()
        for file in files:
            (loose / Path(file).name).write_text((folder / file).read_text())
        folder, files = loose, [Path(file).name for file in files]
    else:
        (folder / "test" / "__init__.py").touch()  # or Python's own package of this name is imported
    report = tmp_path / "report.xml"
    path = os.pathsep.join([str(HERE), str(folder), *sys.path])
    plugins = ["-p", f"{peer}_adapter", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, f"--junitxml={report}"]
    ran = subprocess.run(
        [*command, "--rootdir", str(folder), "-k", " and ".join(f"not {name}" for name in not_applicable), *files],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    cases = list(ElementTree.parse(report).iter("testcase"))
    bad = [case for case in cases if any(case.find(kind) is not None for kind in ("failure", "error"))]
    failed = {case.get("name") for case in bad}
    intended = {name for name in failed for pattern in DIFFERENT[peer] if re.fullmatch(pattern, name)}
    skipped = sum(case.find("skipped") is not None for case in cases)
    n_run = len(cases) - skipped
    print(f"{peer}: {n_run} tests, {n_run - len(bad)} pass, {len(intended)} differ by intent")
    assert failed == intended, ran.stdout[-5000:]
    for pattern, reason in DIFFERENT[peer].items():
        assert any(re.fullmatch(pattern, name) for name in failed), f"no longer different: {pattern} ({reason})"
