"""A fuzzing campaign: so many hostile documents, or so many seconds; prints its counts, fails on any difference.

PYTHONPATH=lib:tests .venv/bin/python -m documents.campaign --documents 1000000 --seed 1 --found DIR
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from documents.differences import LIMITS, Encoders, judge
from documents.generator import hostile_document
from winnow.documents.acceptance import encode_accepted
from winnow.encoding import Encoder, PathTable, Vocabulary
from winnow.ingest.accept import Accepted, Refused, accept

SLOW = 20  # times the time of a plain document of the same size
_BATCH = 1000
_CLOCK = 1e-5  # seconds; the clock of the CPU does not tell less


def campaign(*, documents: int, seconds: float, seed: int, say: Callable[[str], None] = print) -> list[bytes]:
    """Returns the documents on which somebody differs, or which take too long."""
    encoders, timing = Encoders(), _Timing()
    counts: Counter[str] = Counter()
    found: list[bytes] = []
    start = time.monotonic()
    done = 0
    while done < documents and time.monotonic() - start < seconds:
        random = Random(f"{seed}/{done}")
        for _ in range(min(_BATCH, documents - done)):
            content = hostile_document(random)
            verdict, difference, proven = judge(content, encoders, slowly=random.random() < 0.02)
            counts["accepted" if isinstance(verdict, Accepted) else f"refused: {verdict.reason}"] += 1
            counts["proven by the scanner"] += proven
            if not difference and timing.is_slow(content):
                difference = f"takes more than {SLOW} times as long as a plain document"
            if difference:
                counts[difference] += 1
                found.append(content)
                say(f"{difference}: {content[:300]!r}")
            done += 1
        if done % (100 * _BATCH) == 0:
            say(f"{done:,} documents, {time.monotonic() - start:,.0f} s, {len(found)} found")
    say(f"seed {seed}: {done:,} documents in {time.monotonic() - start:,.0f} s, {len(found)} found")
    for name, count in sorted(counts.items()):
        say(f"  {name:<32}{count:>12,}")
    say(f"  {'slowest, times a plain document':<32}{timing.slowest:>12,.1f}  {timing.example[:200]!r}")
    return found


class _Timing:
    """CPU time of acceptance and encoding, beside that of a plain document of the same size."""

    def __init__(self) -> None:
        self._encoder = Encoder(Vocabulary(), PathTable())
        self._plain: dict[int, float] = {}
        self.slowest, self.example = 0.0, b""

    def is_slow(self, content: bytes) -> bool:
        plain = self._plain_document(len(content))
        ratio = self._seconds(content) / self._of_plain(plain)
        if ratio > SLOW / 4:  # names are learnt once, and the machine may be busy: both again, at the same moment
            pairs = [(self._seconds(content), self._seconds(plain)) for _ in range(5)]
            ratio = min(seconds for seconds, _ in pairs) / max(min(seconds for _, seconds in pairs), _CLOCK)
        if ratio > self.slowest:
            self.slowest, self.example = ratio, content
        return ratio > SLOW

    def _of_plain(self, plain: bytes) -> float:
        if len(plain) not in self._plain:
            self._plain[len(plain)] = max(sorted(self._seconds(plain) for _ in range(9))[4], _CLOCK)
        return self._plain[len(plain)]

    def _plain_document(self, size: int) -> bytes:
        return b"<a>" + b"<b>some text</b>" * (4 * (size // 64)) + b"</a>"

    def _seconds(self, content: bytes) -> float:
        start = time.process_time_ns()
        encode_accepted(self._encoder, [content], LIMITS, values=True)
        if not isinstance(accept(content, LIMITS), Refused):
            self._encoder.encode([content], values=True)
        return (time.process_time_ns() - start) / 1e9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--found", type=Path, help="folder for what was found, one file each")
    args = parser.parse_args()
    found = campaign(documents=args.documents, seconds=args.seconds, seed=args.seed)
    for number, content in enumerate(found if args.found else []):
        args.found.mkdir(parents=True, exist_ok=True)
        (args.found / f"{args.seed}-{number}.xml").write_bytes(content)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
