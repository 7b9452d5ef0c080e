"""TextFeatures: scikit-learn's three steps in one, and what is no text is named."""

import warnings

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

import nearer
from extras import needs
from nearer import InformationGain, load_model
from nearer.features import TextFeatures

LIKED = "ship sea harbour wind the and Sail anchor bank stock Bond price market a trade rain x1 Öl"
WORDS = LIKED.split()


def letters(n=80, seed=0):
    """Texts of two classes, each with words that it likes."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % 2
    likes = np.linspace(3.0, 1.0, len(WORDS))
    shares = np.stack([likes, likes[::-1]]) / likes.sum()
    return [" ".join(random.choice(WORDS, 12, p=shares[of])) + "." for of in y], np.array(["sea", "land"])[y]


def three_steps(k, **options):
    return make_pipeline(CountVectorizer(**options), InformationGain(k), TfidfTransformer())


def same(found, wanted):
    """Hold two sparse tables to the same bits in the same places."""
    assert issparse(found)
    assert found.format == "csr"
    assert found.dtype == np.float64
    assert found.has_canonical_format
    assert (found.toarray() == wanted.toarray()).all()


@pytest.mark.parametrize("k", [1, 5, 10])
def test_it_is_exactly_the_three_steps(k):
    texts, y = letters()
    new, _ = letters(30, seed=1)
    model, literal = TextFeatures(k), three_steps(k, min_df=2, stop_words="english")
    same(model.fit_transform(texts, y), literal.fit_transform(texts, y))
    same(model.transform(new), literal.transform(new))
    same(clone(model).fit(texts, y).transform(texts), literal.transform(texts))
    assert model.terms_.tolist() == literal[:2].get_feature_names_out().tolist()
    assert model.get_feature_names_out().tolist() == model.terms_.tolist()
    np.testing.assert_array_equal(model.scores_, literal[1].scores_[literal[1].get_support(indices=True)])
    np.testing.assert_array_equal(model.idf_, literal[2].idf_)
    lengths = np.linalg.norm(model.transform(new).toarray(), axis=1)
    np.testing.assert_allclose(lengths[lengths > 0], 1.0)


def test_other_stop_words_and_rare_terms():
    texts, y = letters()
    texts[3] += " unheard"
    for words in (None, ["sea", "bank"]):
        found = TextFeatures(8, min_df=1, stop_words=words).fit(texts, y)
        literal = three_steps(8, stop_words=words).fit(texts, y)
        same(found.transform(texts), literal.transform(texts))
    every = TextFeatures(stop_words=None, min_df=1).fit(texts, y).terms_.tolist()
    assert {"the", "unheard", "öl", "x1"} <= set(every)
    assert "a" not in every
    assert "unheard" not in TextFeatures().fit(texts, y).terms_


def test_without_classes_the_terms_are_those_of_most_texts():
    texts = ["ship ship ship", "bank anchor", "bank sea", "sea sea bank", "anchor"]
    model = TextFeatures(3, min_df=1).fit(texts)
    assert model.terms_.tolist() == ["bank", "anchor", "sea"]
    assert model.scores_ is None
    assert model.transform(["nothing known", "Anchor"]).toarray().tolist() == [[0, 0, 0], [0, 1, 0]]


def test_more_terms_than_there_are_are_all():
    texts, y = letters()
    model = TextFeatures(20_000).fit(texts, y)
    assert len(model.terms_) == len(CountVectorizer(min_df=2, stop_words="english").fit(texts).vocabulary_)


def test_texts_come_as_lists_arrays_and_series():
    texts, y = letters()
    wanted = TextFeatures(6).fit_transform(texts, y)
    for kind in (tuple, np.array, lambda each: np.array(each, dtype=object)):
        model = TextFeatures(6)
        same(model.fit_transform(kind(texts), y), wanted)
        assert model.column_ is None
    needs("pandas")
    import pandas

    series = pandas.Series(texts, index=np.arange(80)[::-1], name="body")
    model = TextFeatures(6)
    same(model.fit_transform(series, y), wanted)
    assert model.column_ == "body"


@pytest.mark.parametrize("with_classes", [True, False])
def test_it_can_be_saved(tmp_path, with_classes):
    texts, y = letters()
    model = TextFeatures(6, stop_words=["sea"]).fit(texts, y if with_classes else None)
    model.column_ = "body"
    model.save(tmp_path / "m.nearer")
    again = load_model(tmp_path / "m.nearer")
    assert again.get_params() == model.get_params()
    assert again.terms_.tolist() == model.terms_.tolist()
    assert again.terms_.dtype == model.terms_.dtype
    assert again.column_ == "body"
    assert (again.scores_ is None) == (not with_classes)
    same(again.transform(texts), model.transform(texts))
    again.idf_ = again.idf_[:-1]
    again.save(tmp_path / "m.nearer")
    with pytest.raises(ValueError, match=r"is damaged: 6 terms and idf or scores of shape .* do not fit together"):
        load_model(tmp_path / "m.nearer")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a ship", 3, None], "row 1 is 3, of type int, and not a text"),
        (["a ship", float("nan")], "row 1 is nan, of type float, and not a text"),
        (["a ship", b"a ship"], "row 1 is b'a ship', of type bytes, and not a text"),
        ("a ship", "texts must be a list, one-dimensional array or Series of str; got a str"),
        ({"a ship": 1}, "texts must be a list, one-dimensional array or Series of str; got a dict"),
        (np.array([["a ship"]]), r"one-dimensional array or Series of str; got a ndarray of shape \(1, 1\)"),
        ([], "there are no texts: at least one is required"),
        (
            ["a ship", "no more"],
            "no term is in at least min_df=2 of the 2 texts, without stop words",
        ),
        (["the", "and"], "no term is in at least min_df=2 of the 2 texts"),
        (["ship"], "no term is in at least min_df=2 of the 1 texts"),
    ],
)
def test_says_what_is_wrong_with_texts(texts, message):
    with pytest.raises(ValueError, match=message):
        TextFeatures().fit(texts)


def test_says_what_else_is_wrong():
    texts, y = letters()
    for parameters, message in [
        ({"max_features": 0}, "max_features must be a positive integer; got 0"),
        ({"min_df": 0.5}, "min_df must be a positive integer; got 0.5"),
        ({"stop_words": "german"}, "stop_words must be 'english', a list of str or None; got 'german'"),
        ({"stop_words": [3]}, r"stop_words must be 'english', a list of str or None; got \[3\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            TextFeatures(**parameters).fit(texts, y)
    with pytest.raises(NotFittedError):
        TextFeatures().transform(texts)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TextFeatures().fit(texts, y[:-1])
    model = TextFeatures(4).fit(texts, y)
    with pytest.raises(ValueError, match="row 0 is 7"):
        model.fit([7], ["x"])
    assert len(model.terms_) == 4


def test_its_name_is_not_one_of_the_first():
    assert not hasattr(nearer, "TextFeatures")


@pytest.mark.filterwarnings("error")
def test_scikit_learns_conventions():
    with warnings.catch_warnings(action="ignore", category=SkipTestWarning):  # it has no texts to check with
        checks = list(estimator_checks_generator(TextFeatures(), legacy=True))
    assert checks
    for estimator, check in checks:
        check(estimator)
