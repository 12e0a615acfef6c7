"""Profiles fit what they are made from, are native, and match as many documents as was asked for."""

from itertools import islice

import pytest
from lxml import etree

from winnow import Matcher
from winnow.errors import UsageError
from winnow.generate.documents import DocumentMaker, DocumentOptions, make_documents
from winnow.generate.dtd import read_dtd
from winnow.generate.guide import Guide, guide_of_dtd, guides_of_documents
from winnow.generate.profiles import Made, ProfileMaker, ProfileOptions, take
from winnow.generate.selectivity import Mixture, Targets
from winnow.generate.sources import dtds_of
from winnow.generate.values import Values
from winnow.xpath import compile_profile

from .test_documents import AWKWARD, NAMESPACED

VALUES = Values()
RICH = ProfileOptions(branch=0.2, predicates=2, predicate_share=0.5, value_share=0.8, skew=0.5)


@pytest.fixture(scope="module")
def documents() -> list[bytes]:
    makers = [DocumentMaker(dtd, VALUES, DocumentOptions(60), seed=1) for dtd in dtds_of(["all"])]
    return [content for _, content in make_documents(makers, range(200))]


@pytest.fixture(scope="module")
def guides() -> list[Guide]:
    return [guide_of_dtd(dtd, VALUES) for dtd in dtds_of(["all"])]


def some(guides: list[Guide], options: ProfileOptions, count: int = 300, seed: int = 1) -> list[Made]:
    return list(islice(ProfileMaker(guides, options, seed).distinct(), count))


def matches(made: list[Made], documents: list[bytes]) -> list[tuple[int, int]]:
    """By libxml2."""
    trees = [etree.fromstring(document) for document in documents]
    asked = [etree.XPath(each.xpath, namespaces=dict(each.namespaces)) for each in made]
    return [(d, p) for d, tree in enumerate(trees) for p, xpath in enumerate(asked) if xpath(tree)]


@pytest.mark.parametrize("options", [ProfileOptions(), RICH, RICH._replace(only_equal=True, wildcard=0.5)])
def test_every_profile_is_native_and_distinct(
    guides: list[Guide], documents: list[bytes], options: ProfileOptions
) -> None:
    for source in (guides, guides_of_documents(documents)):
        made = some(source, options)
        assert len(set(made)) == 300
        for each in made:
            assert compile_profile(each.xpath, dict(each.namespaces)).klass.value == "native"


def test_walks_along_documents_match_them(documents: list[bytes]) -> None:
    made = some(guides_of_documents(documents), ProfileOptions())
    assert {profile for _, profile in matches(made, documents)} == set(range(300))


def test_values_of_a_dtd_match_its_documents(guides: list[Guide], documents: list[bytes]) -> None:
    made = some(guides, ProfileOptions(steps=3, predicates=1, skew=1.0))
    assert len({profile for _, profile in matches(made, documents)}) > 30


def test_parameters(guides: list[Guide]) -> None:
    def share(options: ProfileOptions, mark: str) -> float:
        made = some(guides, options)
        return sum(each.xpath.count(mark) for each in made) / len(made)

    plain = ProfileOptions(wildcard=0, descendant=0)
    assert [share(plain, mark) for mark in ("*", "//", "[")] == [0, 0, 0]
    assert share(plain._replace(wildcard=0.2), "*") < share(plain._replace(wildcard=0.6), "*")
    assert share(plain._replace(descendant=0.2), "//") < share(plain._replace(descendant=0.6), "//")
    assert share(plain._replace(branch=0.2), "[") < share(plain._replace(branch=0.6), "[")
    assert share(plain._replace(predicates=3, only_equal=True), "[") == 3
    assert share(plain._replace(predicates=1, attribute_share=1.0), "@") > share(
        plain._replace(predicates=1, attribute_share=0.0), "@"
    )
    assert 0.4 < share(plain._replace(predicates=1, predicate_share=0.5, only_equal=True), "[") < 0.6
    lengths = {each.xpath.count("/") for each in some(guides, plain._replace(shortest=3, steps=7))}
    assert lengths == {3, 4, 5, 6, 7}


def test_skew_prefers_the_first_labels() -> None:
    guide = [guide_of_dtd(dtds_of(["flat-wide"])[0], VALUES)]
    first = guide[0].places[guide[0].places[0].below[0]].name

    def often(skew: float) -> int:
        options = ProfileOptions(steps=2, wildcard=0, predicates=1, skew=skew)
        return sum(first in each.xpath for each in some(guide, options))

    assert 0 < 3 * often(0.0) < often(1.0)


@pytest.mark.parametrize("text", [AWKWARD, NAMESPACED])
def test_any_dtd(text: str) -> None:
    dtd = read_dtd(text, name="any")
    maker = DocumentMaker(dtd, VALUES, DocumentOptions(20, 8), seed=1)
    documents = [content for _, content in make_documents([maker], range(30))]
    for source in ([guide_of_dtd(dtd, VALUES)], guides_of_documents(documents)):
        options = ProfileOptions(steps=4, predicates=1, predicate_share=0.7, branch=0.2, value_share=0.7)
        made = some(source, options, 100)
        matcher = Matcher((str(n), each.xpath, dict(each.namespaces)) for n, each in enumerate(made))
        assert not matcher.rejected
        found = matches(made, documents)
        assert len({profile for _, profile in found}) > 15
        assert sorted((m.document, int(m.profile_id)) for m in matcher.match(documents)) == found


@pytest.mark.parametrize("targets", [(0.5, 0.25), (0.1, 0.25), (0.05, 0.1), (0.9, 0.9), (None, 0.1), (0.3, None)])
@pytest.mark.parametrize("options", [ProfileOptions(), RICH])
def test_targets_are_reached(
    guides: list[Guide], documents: list[bytes], targets: tuple[float | None, float | None], options: ProfileOptions
) -> None:
    mixture = Mixture(ProfileMaker(guides, options, seed=1), 300, documents, Targets(*targets))
    made = list(mixture)
    assert len(set(made)) == 300
    found = matches(made, documents)
    shares = len({document for document, _ in found}) / len(documents), len({profile for _, profile in found}) / 300
    assert mixture.reached == pytest.approx(shares)  # what is said is what libxml2 finds
    for wanted, got in zip(targets, shares, strict=True):
        assert wanted is None or got == pytest.approx(wanted, abs=0.03)


def test_what_cannot_be_reached_is_not_claimed() -> None:
    dtd = read_dtd("<!ELEMENT a (b)><!ELEMENT b (#PCDATA)>", name="any")
    documents = [b"<a><b>x</b></a>"] * 10
    options = ProfileOptions(steps=2, wildcard=0.5, predicates=1)
    mixture = Mixture(ProfileMaker([guide_of_dtd(dtd, VALUES)], options, 1), 20, documents, Targets(0.5, 0.5))
    assert len(list(mixture)) == 20
    assert mixture.reached == (0, 0)  # all documents are equal: half of them is none or all


def test_too_few() -> None:
    guide = guide_of_dtd(read_dtd("<!ELEMENT a EMPTY>", name="any"), VALUES)
    with pytest.raises(UsageError) as caught:
        list(take(ProfileMaker([guide], ProfileOptions(shortest=1), 1).distinct(), 10))
    assert "only 4 of 10" in caught.value.message  # with and without // and *
