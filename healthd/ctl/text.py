"""Make text that others wrote harmless on a terminal, and measure it in cells. Pure."""

from __future__ import annotations

from unicodedata import category, east_asian_width

#: Nothing that is one line is longer than this when it is printed for people, in cells.
LINE_MOST = 1000
#: Marks that stack on one character; more would paint over the neighbouring lines.
_MARKS_MOST = 2
_SPACES = "\t\n\r\v\f"


def clean(text: str) -> str:
    """*text* as one line without control characters, at most LINE_MOST cells.

    Whatever a terminal could take as a command (escape sequences, C1, changes of the writing
    direction) is shown as its escape, `\\x1b`; line breaks and tabs become spaces.
    """
    if len(text) > LINE_MOST:
        # Four characters a cell leave room for marks; the rest is cut by its width below.
        text = text[: 4 * LINE_MOST]
    if not text.isprintable() or not text.isascii():
        text = _harmless(text)
    return cut(text, LINE_MOST) if len(text) > LINE_MOST else text


def _harmless(text: str) -> str:
    pieces: list[str] = []
    marks = 0
    for character in text:
        if _is_mark(character):
            marks += 1
            if marks <= _MARKS_MOST:
                pieces.append(character)
            continue
        marks = 0
        if character.isprintable():
            pieces.append(character)
        elif character in _SPACES or category(character) == "Zs":
            pieces.append(" ")
        else:
            pieces.append(character.encode("unicode_escape").decode("ascii"))
    return "".join(pieces)


def _is_mark(character: str) -> bool:
    return character > "\x7f" and category(character) in ("Mn", "Me")


def _cells_of(character: str) -> int:
    # Hangul vowels and finals join the syllable before them.
    if _is_mark(character) or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if east_asian_width(character) in ("W", "F") else 1


def cells(text: str) -> int:
    """How many columns of a terminal *text* (clean) takes."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def cut(text: str, width: int) -> str:
    """*text* in at most *width* cells; what was cut at the end is shown as "…"."""
    if cells(text) <= width:
        return text
    return _head(text, width - 1) + "…" if width > 0 else ""


def squeeze(text: str, width: int) -> str:
    """*text* in at most *width* cells; cut in its middle, because names differ at both ends."""
    if cells(text) <= width:
        return text
    if width < 3:
        return cut(text, width)
    tail = _head(text[::-1], width // 2)[::-1].lstrip("".join(filter(_is_mark, text)))
    return _head(text, width - 1 - cells(tail)) + "…" + tail


def _head(text: str, width: int) -> str:
    used = 0
    for index, character in enumerate(text):
        used += _cells_of(character)
        if used > width:
            return text[:index]
    return text


def pad(text: str, width: int, *, right: bool = False) -> str:
    """*text* filled with spaces to *width* cells; *right* puts the text at the right end."""
    space = " " * (width - cells(text))
    return space + text if right else text + space


def wrap(text: str, width: int | None) -> list[str]:
    """*text* in lines of at most *width* cells (None: one line), broken at spaces where it can."""
    if width is None or cells(text) <= width:
        return [text]
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if cells(longer) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        while cells(word) > width:
            head = _head(word, width) or word[0]
            lines.append(head)
            word = word[len(head) :]
        line = word
    return [*lines, line] if line else lines
