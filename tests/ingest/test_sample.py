"""The sample is the same for the same seed, and holds what it promises."""

from pathlib import Path

from lxml import etree

from winnow.generate.sample import make, make_profiles, write_sample
from winnow.generate.vocabularies import VOCABULARIES
from winnow.ingest.profiles import read_profiles


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    def bytes_of(folder: str, seed: int) -> dict[str, bytes]:
        write_sample(tmp_path / folder, documents=30, profiles=30, seed=seed)
        root = tmp_path / folder
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}

    first = bytes_of("a", 1)
    assert bytes_of("b", 1) == first
    assert bytes_of("c", 2) != first


def test_documents_parse_and_profiles_match_some_but_not_all() -> None:
    trees = [etree.fromstring(text.encode()) for name in VOCABULARIES for _, text in make(name, 40, 1)]
    assert len({tree.tag for tree in trees}) == 3
    pairs = matches = 0
    for profile in make_profiles(60, 1):
        xpath = etree.XPath(str(profile["xpath"]), namespaces=profile.get("namespaces"))
        pairs += len(trees)
        matches += sum(bool(xpath(tree)) for tree in trees)
    assert 0.02 < matches / pairs < 0.5


def test_profiles_read_back(tmp_path: Path) -> None:
    sample = write_sample(tmp_path, documents=3, profiles=50)
    assert read_profiles(str(sample.profiles)).profiles.num_rows == 50
