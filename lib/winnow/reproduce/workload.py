"""What a point of a figure is measured on: documents and profiles of `winnow.generate`, by parameters alone."""

import hashlib
import json
from functools import lru_cache
from typing import Any, NamedTuple

from winnow.encoding import Encoder, PathTable, Vocabulary
from winnow.generate.documents import DocumentMaker, DocumentOptions, make_documents
from winnow.generate.guide import guide_of_dtd
from winnow.generate.profiles import Made, ProfileMaker, ProfileOptions, take
from winnow.generate.selectivity import Mixture, Targets
from winnow.generate.sources import dtds_of
from winnow.generate.values import Values
from winnow.xpath import compile_profile
from winnow.xpath.pattern import Pattern

SEED = 7
BATCH = 1000  # documents that are matched together: the batch of BoXFilter §5.3
_SAMPLE = 10_000  # documents that targets are measured on, at most


class Workload(NamedTuple):
    documents: int
    profiles: int
    dtds: tuple[str, ...] = ("all",)
    elements: int = 60
    depth: int = 16
    walk: ProfileOptions = ProfileOptions()
    targets: Targets = Targets()
    distinct_values: int = 1000  # of a label

    def parameters(self) -> dict[str, Any]:
        """As JSON has them."""
        parts = self._asdict() | {"walk": self.walk._asdict(), "targets": self.targets._asdict(), "seed": SEED}
        parameters: dict[str, Any] = json.loads(json.dumps(parts))
        return parameters

    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.parameters(), sort_keys=True).encode()).hexdigest()[:12]


class Prepared(NamedTuple):
    contents: list[bytes]
    profiles: list[Made]
    patterns: list[Pattern]
    vocabulary: Vocabulary
    paths: PathTable  # all paths of the documents are known: what is measured later is no one's first time


@lru_cache(maxsize=1)  # engines of one point come one after the other
def prepare(workload: Workload) -> Prepared:
    values, dtds = Values(distinct=workload.distinct_values), dtds_of(workload.dtds)
    options = DocumentOptions(workload.elements, workload.depth)
    makers = [DocumentMaker(dtd, values, options, SEED) for dtd in dtds]
    contents = [content for _, content in make_documents(makers, range(workload.documents))]
    maker = ProfileMaker([guide_of_dtd(dtd, values) for dtd in dtds], workload.walk, SEED)
    mixture = Mixture(maker, workload.profiles, contents[:_SAMPLE], workload.targets)
    made = list(take(iter(mixture) if workload.targets.are_set else maker.distinct(), workload.profiles))
    compiled = (compile_profile(each.xpath, dict(each.namespaces)) for each in made)
    patterns = [pattern for each in compiled for pattern in each.alternatives]
    prepared = Prepared(contents, made, patterns, mixture.vocabulary, mixture.paths)
    encoder = Encoder(mixture.vocabulary, mixture.paths)
    for place in range(0, len(contents), BATCH):
        encoder.encode(contents[place : place + BATCH], values=False)
    return prepared
