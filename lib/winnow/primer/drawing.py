"""A picture as SVG text: boxes, lines and words, readable on a light and on a dark page."""

from xml.sax.saxutils import escape

WIDTH = 900
_STYLE = """
text { font: 13px sans-serif; fill: #1b1f24 }
text.code { font-family: monospace; white-space: pre }
text.head { font-weight: bold; font-size: 15px }
text.soft { fill: #57606a }
rect.page { fill: #ffffff }
rect.box { fill: #eef2f6; stroke: #8c959f }
rect.bound { fill: #cfe3f7; stroke: #1f6f8b }
rect.match { fill: #b7e1c0; stroke: #2b7a3d }
rect.candidate { fill: #fbe3a6; stroke: #9a6b00 }
rect.compared { fill: #f6d0cc; stroke: #a4372c }
rect.skipped { fill: none; stroke: #8c959f; stroke-dasharray: 3 3 }
line { stroke: #8c959f }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
text.soft { fill: #9da7b1 }
rect.page { fill: #0d1117 }
rect.box { fill: #21262d; stroke: #6e7681 }
rect.bound { fill: #16384f; stroke: #58a6c9 }
rect.match { fill: #1d4a2a; stroke: #56b870 }
rect.candidate { fill: #54430f; stroke: #d9a921 }
rect.compared { fill: #5a2621; stroke: #e0786d }
rect.skipped { stroke: #6e7681 }
line { stroke: #6e7681 }
}
"""


class Drawing:
    """Things are put where they belong; the height follows from them."""

    def __init__(self, title: str, description: str) -> None:
        self._title, self._description = title, description
        self._parts: list[str] = []
        self._bottom = 0
        self.words(20, 28, title, "head")

    def words(self, x: int, y: int, words: str, kind: str = "") -> None:
        """Text whose base line begins at (x, y)."""
        named = f' class="{kind}"' if kind else ""
        self._parts.append(f'<text x="{x}" y="{y}"{named}>{escape(words)}</text>')
        self._bottom = max(self._bottom, y)

    def box(
        self, x: int, y: int, width: int, height: int, *, kind: str = "box", words: str = "", font: str = ""
    ) -> None:
        """A box with its upper left corner at (x, y), and words in its middle."""
        self._parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="3" class="{kind}"/>')
        if words:
            named = f' class="{font}"' if font else ""
            place = f'x="{x + width // 2}" y="{y + height // 2 + 5}" text-anchor="middle"'
            self._parts.append(f"<text {place}{named}>{escape(words)}</text>")
        self._bottom = max(self._bottom, y + height)

    def line(self, x: int, y: int, to_x: int, to_y: int) -> None:
        self._parts.append(f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}"/>')

    def legend(self, y: int, meanings: dict[str, str]) -> None:
        """Says below each other what the kinds of boxes mean."""
        for number, (kind, meaning) in enumerate(meanings.items()):
            self.box(20, y + 24 * number, 18, 16, kind=kind)
            self.words(48, y + 24 * number + 13, meaning)

    def svg(self) -> str:
        height = self._bottom + 20
        return "\n".join(
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"'
                f' height="{height}" role="img" aria-labelledby="title description">',
                f'<title id="title">{escape(self._title)}</title>',
                f'<desc id="description">{escape(self._description)}</desc>',
                f"<style>{_STYLE}</style>",
                f'<rect class="page" width="{WIDTH}" height="{height}"/>',
                *self._parts,
                "</svg>\n",
            )
        )
