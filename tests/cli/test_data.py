"""nearer data: what there is, where it is, and how it gets here."""

from nearer.datasets import SOURCES


def test_all_are_listed_with_size_license_and_place(nearer, tmp_path):
    shown = nearer("data", env={"NEARER_DATA": "", "NEARER_CACHE": str(tmp_path)}).stdout
    for source in SOURCES.values():
        assert source.name in shown
        assert source.size in shown
    assert shown.count("license:") == len(SOURCES)
    assert shown.count("not here; by hand") == sum(bool(source.by_hand) for source in SOURCES.values())
    assert all(len(line) < 80 for line in shown.splitlines())


def test_a_damaged_file_is_not_said_to_be_found(nearer, tmp_path):
    path = tmp_path / SOURCES["music"].path
    path.parent.mkdir()
    path.write_bytes(b"text")
    shown = nearer("data", env={"NEARER_DATA": str(tmp_path), "NEARER_CACHE": str(tmp_path / "cache")}).stdout
    assert f"damaged, remove it: {path}" in " ".join(shown.split())
    assert "found:" not in shown


def test_one_is_described(nearer, tmp_path):
    shown = nearer("data", "corel5k", env={"NEARER_DATA": "", "NEARER_CACHE": str(tmp_path)}).stdout
    assert "stand-in        stands in for the ImageNet 2010 features" in shown
    assert SOURCES["corel5k"].sha256 in shown
    assert "found           not on this machine" in shown


def test_what_cannot_be_done_says_so(nearer, refused, tmp_path):
    assert "unknown data set 'musik'; the known ones are music" in refused("data", "musik")
    assert "--download needs the name of a data set" in refused("data", "--download")
    nowhere = {"NEARER_DATA": "", "NEARER_CACHE": str(tmp_path)}
    told = nearer("data", "caltech101", "--download", code=2, env=nowhere).stderr
    assert "cannot be downloaded" in told
    assert "Traceback" not in told
