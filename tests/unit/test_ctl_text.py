"""Text on a terminal: what is harmless, how wide it is, and instants in words."""

from __future__ import annotations

import pytest

from healthd.ctl import times
from healthd.ctl.text import LINE_MOST, cells, clean, cut, pad, squeeze, wrap
from tests.unit import ctl_samples as samples
from tests.unit.ctl_samples import MINUTE, NOW, SECOND

DAY = 24 * 60 * MINUTE


@pytest.mark.parametrize(
    ("dirty", "harmless"),
    [
        ("plain words", "plain words"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b1m", "\\x9b1m"),
        ("a\tb\nc\r\nd", "a b c  d"),
        ("nul\x00del\x7f", "nul\\x00del\\x7f"),
        ("\u202eright to left", "\\u202eright to left"),
        ("no\u00a0break", "no break"),
        ("Zürich ☃", "Zürich ☃"),
        ("e" + "\u0301" * 9, "e\u0301\u0301"),
    ],
)
def test_only_what_a_terminal_could_act_on_is_changed(dirty: str, harmless: str) -> None:
    """People must still recognize what was written."""
    assert clean(dirty) == harmless


def test_a_line_is_bounded() -> None:
    """A page must not be made of one message."""
    assert cells(clean("語" * 100_000)) <= LINE_MOST
    assert cells(clean("x" * 100_000)) == LINE_MOST


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("語", 2),
        ("é", 1),
        ("e\u0301", 1),
        ("한글", 4),
        ("\u1112\u1161\u11ab", 2),
        ("", 0),
    ],
)
def test_width_is_counted_in_cells(text: str, width: int) -> None:
    """Columns are aligned by what is seen, not by the number of characters."""
    assert cells(text) == width


def test_a_name_is_squeezed_in_its_middle() -> None:
    """Both ends of a unit's name tell it from others."""
    assert squeeze("liveness:postgresql@17-main.service", 17) == "liveness….service"
    assert cells(squeeze("語" * 20, 9)) <= 9
    assert squeeze("abc", 3) == "abc"
    assert squeeze("abcd", 2) == "a…"


def test_text_is_cut_and_filled_to_its_column() -> None:
    """A wide character that does not fit whole is left out, not halved."""
    assert cut("abcdef", 4) == "abc…"
    assert cut("語語語", 4) == "語…"
    assert cut("abc", 0) == ""
    assert pad("語", 4) == "語  "
    assert pad("7", 3, right=True) == "  7"


def test_words_are_wrapped_and_long_ones_broken() -> None:
    """A line that is too long would be folded by the terminal, below the label."""
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("abcdefghij k", 4) == ["abcd", "efgh", "ij k"]
    assert wrap("語語語", 3) == ["語", "語", "語"]
    assert wrap("語", 1) == ["語"]
    assert wrap("any length at all", None) == ["any length at all"]


def test_instants_are_exact_and_relative(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact one can be compared with a log, the relative one is understood at once."""
    samples.use_utc(monkeypatch)
    assert times.exact(NOW) == "Mon 2026-11-30 23:35:26 UTC"
    assert times.both(NOW - 242 * SECOND, NOW) == ("Mon 2026-11-30 23:31:24 UTC; 4 min 2 s ago")
    assert times.relative(NOW + 12 * SECOND, NOW) == "in 12 s"
    assert times.relative(NOW, NOW) == "now"


@pytest.mark.parametrize(
    ("us", "words"),
    [
        (0, "0 s"),
        (-5 * SECOND, "0 s"),
        (59 * SECOND, "59 s"),
        (MINUTE, "1 min"),
        (90 * SECOND, "1 min 30 s"),
        (DAY, "1 day"),
        (3 * DAY + 4 * 60 * MINUTE, "3 days 4 h"),
        (2 * DAY + MINUTE, "2 days"),
    ],
)
def test_a_span_is_said_in_two_units(us: int, words: str) -> None:
    """More units are never needed, fewer would be wrong by half."""
    assert times.span(us) == words
    assert times.coarse(us) == " ".join(words.split()[:2])


def test_an_instant_beyond_the_calendar_is_its_number() -> None:
    """The interface carries 64 bits, more than some C libraries count: no reason to fall over."""
    assert times.exact(2**64 - 1)
    assert times.exact(2**90 * SECOND) == f"@{2**90}"
