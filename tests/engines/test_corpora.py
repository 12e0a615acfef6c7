"""Real documents and real profiles: every pair as lxml has it."""

import gzip
import json
import tarfile
from pathlib import Path
from random import Random

import pytest
from lxml import etree

from winnow import Matcher
from winnow.ingest.accept import DEFAULT_LIMITS, Accepted, accept

from .truth import NIGHTLY, Profile, assert_same, pairs_of, taken, truth

pytestmark = pytest.mark.corpora


def invoices(corpora: Path) -> list[bytes]:
    with tarfile.open(corpora / "invoices-800.tar.gz") as members:
        files = [members.extractfile(member) for member in members if member.isfile()]
        return [file.read() for file in files if file]


def invoice_profiles(corpora: Path) -> list[Profile]:
    """382 of them bind nothing; they get the bindings of the others, so that they are of use."""
    with gzip.open(corpora / "invoice-profiles.jsonl.gz") as lines:
        rows = [json.loads(line) for line in lines]
    usual = {prefix: uri for row in rows for prefix, uri in row["namespaces"].items()}
    return [(row["profile_id"], row["xpath"], row["namespaces"] or usual, False) for row in rows]


def articles(corpora: Path) -> list[bytes]:
    root = etree.fromstring(gzip.decompress((corpora / "pubmed-5000.xml.gz").read_bytes()))
    return [etree.tostring(article, with_tail=False, encoding="utf-8") for article in root]


def test_invoices(corpora: Path) -> None:
    documents, profiles = invoices(corpora), invoice_profiles(corpora)
    if not NIGHTLY:
        documents = Random(5).sample(documents, 8)
    matcher = Matcher(profiles)
    assert len(matcher) > 6400
    profiles = taken(matcher, profiles)
    documents = [content for content in documents if isinstance(accept(content, DEFAULT_LIMITS), Accepted)]
    assert_same(pairs_of(matcher, documents), truth(profiles, documents), profiles, documents)


def test_articles(corpora: Path) -> None:
    r = Random(6)
    documents = articles(corpora)
    if not NIGHTLY:
        documents = r.sample(documents, 150)
    profiles = [(f"p{n}", article_profile(etree.fromstring(r.choice(documents)), r), {}, False) for n in range(400)]
    matcher = Matcher(profiles)
    assert not matcher.rejected
    assert_same(pairs_of(matcher, documents), truth(profiles, documents), profiles, documents)


def article_profile(root: etree._Element, r: Random) -> str:
    """A profile that holds for this article, if `!=` and the like are left aside."""
    steps = []
    element: etree._Element | None = r.choice([node for node in root.iter() if isinstance(node.tag, str)])
    while element is not None:
        step = str(element.tag) if r.random() > 0.1 else "*"
        children = [child for child in element if isinstance(child.tag, str)]
        if element.attrib and r.random() < 0.4:
            name = r.choice(list(element.attrib))
            step += f"[@{name}]"
            value = str(element.attrib[name])
            if '"' not in value and r.random() < 0.5:
                step = step[:-1] + f'{r.choice(("=", "!=", ">"))} "{value}"]'
        text = (element.text or "").strip()
        if text and '"' not in text and r.random() < 0.4:
            step += r.choice(
                (f'[. = "{text}"]', f'[contains(., "{text[2:9]}")]', f'[starts-with(text(), "{text[:3]}")]')
            )
        if text.isdigit():
            step += r.choice(("", f"[. >= {text}]", f"[. < {text}]", f"[text() = {text}]"))
        if children and r.random() < 0.5:
            step += f"[{r.choice(('', './/'))}{r.choice(children).tag}]"
        steps.append(step)
        element = element.getparent()
    path = "".join(r.choice(("/", "/", "/", "//")) + step for step in reversed(steps))
    if r.random() < 0.3:
        path = "//" + r.choice(("/", "//")).join(reversed(steps[: r.randrange(1, 4)]))
    return path
