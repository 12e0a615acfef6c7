"""`python -m winnow.primer FOLDER [CORPORA]` draws the pictures of infra/docs/primer.md anew."""

import sys
import tarfile
from pathlib import Path

from winnow.primer import real_documents, three_sequences


def pictures(corpora: Path | None) -> dict[str, str]:
    """Returns the pictures by name; those of real documents only where these are."""
    example = three_sequences.run()
    made = {"envelope": three_sequences.draw_envelope(example), "search": three_sequences.draw_search(example)}
    if corpora is None:
        return made
    told = real_documents.run(real_contents(corpora))
    return made | {
        "sequence": real_documents.draw_sequence(told),
        "pieces": real_documents.draw_pieces(told),
        "tree": real_documents.draw_tree(told),
        "funnel": real_documents.draw_funnel(told),
    }


def real_contents(corpora: Path) -> list[bytes]:
    with tarfile.open(corpora / "invoices-800.tar.gz") as members:
        files = [members.extractfile(name) for name in real_documents.MEMBERS]
        return [file.read() for file in files if file is not None]


def main(folder: str, corpora: str = "../shared/corpora") -> int:
    place = Path(corpora)
    if not place.is_dir():
        print(f"{place} is absent: the pictures of real documents stay as they are", file=sys.stderr)
    for name, svg in pictures(place if place.is_dir() else None).items():
        (Path(folder) / f"{name}.svg").write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
