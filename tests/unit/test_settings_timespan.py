"""Time spans read and written as systemd does, but for the bare number."""

from __future__ import annotations

import pytest

from healthd.settings.timespan import LONGEST_US, BadSpan, timespan_text, timespan_us

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US


@pytest.mark.parametrize(
    ("text", "span_us"),
    [
        ("0s", 0),
        ("30s", 30 * SECOND_US),
        ("30 sec", 30 * SECOND_US),
        ("5min", 5 * MINUTE_US),
        ("5m", 5 * MINUTE_US),
        ("1h 30min", 90 * MINUTE_US),
        ("1h30min", 90 * MINUTE_US),
        ("500ms", 500_000),
        ("250 µs", 250),
        ("1.5s", 1_500_000),
        ("14d", 14 * DAY_US),
        ("2 weeks", 14 * DAY_US),
        ("1M", 2_629_800 * SECOND_US),
        ("1y", 31_557_600 * SECOND_US),
        ("  2hr  ", 2 * HOUR_US),
    ],
)
def test_spans_mean_what_they_mean_to_systemd(text: str, span_us: int) -> None:
    """The owner knows these words from unit files."""
    assert timespan_us(text) == span_us


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("30", "is a bare number: write 30s, 30min or 30h"),
        ("1h 30", "is a bare number: write 30s, 30min or 30h"),
        ("0", "is a bare number: write 0s, 0min or 0h"),
        ("", "is empty"),
        ("   ", "is empty"),
        ("soon", "is no time span"),
        ("-5s", "is no time span"),
        ("1e3s", "has the unknown unit e"),
        ("5 fortnights", "has the unknown unit fortnights"),
        ("101y", "is longer than 100 years"),
        ("٣s", "is no time span"),
    ],
)
def test_what_is_no_span_says_why(text: str, words: str) -> None:
    """A bare number above all: seconds, minutes and milliseconds are all somebody's guess."""
    with pytest.raises(BadSpan, match=words):
        timespan_us(text)


def test_the_longest_span_is_a_span() -> None:
    """The bound itself belongs to what is allowed."""
    assert timespan_us("100y") == LONGEST_US


@pytest.mark.parametrize(
    ("span_us", "text"),
    [
        (0, "0s"),
        (90 * MINUTE_US, "1h 30min"),
        (500_000, "500ms"),
        (1_500_000, "1s 500ms"),
        (14 * DAY_US, "14d"),
        (61 * SECOND_US + 7, "1min 1s 7us"),
    ],
)
def test_spans_are_written_short(span_us: int, text: str) -> None:
    """They stand in the middle of sentences."""
    assert timespan_text(span_us) == text
