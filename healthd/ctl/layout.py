"""Lay out cells in tables and labelled fields, painted and cut for one screen. Pure.

Words must have gone through `text.clean` before they come here.
"""

from __future__ import annotations

from typing import NamedTuple

from healthd.ctl.text import cells, cut, pad, squeeze, wrap

#: Readable on dark and on light backgrounds. States have the names of their colours.
STYLES = {"red": "1;31", "yellow": "33", "green": "32", "grey": "38;5;245", "bold": "1"}
#: The style of words that `paint` or `spans` has been through.
PAINTED = "painted"
#: A state must be told without colours too.
GLYPHS = {"red": "×", "yellow": "!", "green": "●", "grey": "○"}
_GLYPHS_ASCII = {"red": "x", "yellow": "!", "green": "*", "grey": "o"}
#: From here on there is room for an exact instant beside a relative one.
WIDE = 120


class Screen(NamedTuple):
    """What is printed on: *width* in cells, None where nothing is cut; *now* in wall µs."""

    width: int | None = None
    colour: bool = False
    unicode: bool = True
    legend: bool = True
    now: int = 0

    @property
    def wide(self) -> bool:
        """Whether there is room for more than the needed."""
        return self.width is None or self.width >= WIDE

    def paint(self, words: str, style: str) -> str:
        """*words* in *style*; one that we do not know paints nothing."""
        code = STYLES.get(style)
        return f"\x1b[{code}m{words}\x1b[0m" if self.colour and code and words.strip() else words

    def glyph(self, state: str) -> str:
        """The mark of a state, not painted; a state that we do not know has its own."""
        return (GLYPHS if self.unicode else _GLYPHS_ASCII).get(state, "?")


class Column(NamedTuple):
    """A column: it may be cut to *least* cells (0: never), in its middle or at its end."""

    title: str
    least: int = 0
    middle: bool = False
    right: bool = False


class Cell(NamedTuple):
    """Words and the style they are painted in: a state, "bold", PAINTED or ""."""

    words: str
    style: str = ""


def table(columns: list[Column], body: list[list[Cell]], screen: Screen) -> list[str]:
    """The lines of a table, with its head when the screen has a legend; none for no rows."""
    if not body:
        return []
    head = [Cell(column.title, "bold") for column in columns]
    shown = [head, *body] if screen.legend else body
    natural = [max(cells(row[index].words) for row in shown) for index in range(len(columns))]
    widths = _fitted(columns, natural, screen.width)
    return [_line(columns, row, widths, screen) for row in shown]


def _fitted(columns: list[Column], natural: list[int], width: int | None) -> list[int]:
    """The widths, shrunk from the last column on until they fit or nothing more may be cut."""
    widths = list(natural)
    if width is None:
        return widths
    over = sum(widths) + sum(len(_gap(column)) for column in columns[:-1]) - width
    for index in reversed(range(len(columns))):
        if over > 0 and columns[index].least:
            less = min(over, max(0, widths[index] - columns[index].least))
            widths[index] -= less
            over -= less
    return widths


def _line(columns: list[Column], row: list[Cell], widths: list[int], screen: Screen) -> str:
    pieces = []
    last = len(columns) - 1
    for index, (column, cell, width) in enumerate(zip(columns, row, widths, strict=True)):
        words = squeeze(cell.words, width) if column.middle else cut(cell.words, width)
        filled = (
            words if index == last and not column.right else pad(words, width, right=column.right)
        )
        pieces.append(screen.paint(filled, cell.style) + ("" if index == last else _gap(column)))
    return "".join(pieces).rstrip()


def _gap(column: Column) -> str:
    """What stands after a column; one without a title is a mark and belongs to the next."""
    return "  " if column.title else " "


#: A label and the lines beside it.
Field = tuple[str, list[Cell]]


def spans(parts: list[Cell], screen: Screen) -> str:
    """Parts of one line, each painted in its own style, with commas between them."""
    return ", ".join(screen.paint(part.words, part.style) for part in parts)


def wrapped(cell: Cell, indent: str, screen: Screen) -> list[str]:
    """The cell's words after *indent*, on as many lines as they need."""
    room = None if screen.width is None else max(20, screen.width - len(indent))
    return [indent + screen.paint(line, cell.style) for line in wrap(cell.words, room)]


def fields(pairs: list[Field], screen: Screen) -> list[str]:
    """Lines of `label: words`, the colons under each other; further cells go below the first.

    A field without cells is left out. Long words are wrapped and indented.
    """
    given = [(label, values) for label, values in pairs if values]
    indent = max((len(label) for label, _ in given), default=0) + 2
    room = None if screen.width is None else max(20, screen.width - indent - 2)
    lines = []
    for label, values in given:
        title = f"{label}: ".rjust(indent)
        for cell in values:
            # What is painted already is short, and its width is not that of its letters.
            parts = [cell.words] if cell.style == PAINTED else wrap(cell.words, room)
            for words in parts:
                lines.append("  " + title + screen.paint(words, cell.style))
                title = " " * indent
    return [line.rstrip() for line in lines]
