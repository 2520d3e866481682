"""How numbers, spans, sizes, shares and rates are read: a text in, a checked value out. Pure."""

from __future__ import annotations

import re

from msgspec import Struct

from healthd.model import Budget
from healthd.settings.forms import Unfit
from healthd.settings.timespan import LONGEST_US, BadSpan, timespan_text, timespan_us

_SIZE = re.compile(r"([0-9]{1,15})\s*([KMGT])i?B?")
_RATE = re.compile(r"\s*([0-9]{1,6})\s+per\s+(.+)")
_SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Number(Struct, frozen=True):
    """A whole number, *least* to *most*."""

    least: int
    most: int

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.least} to {self.most}"

    def read(self, text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", text, re.ASCII):
            raise Unfit("")
        value = int(text)
        if not self.least <= value <= self.most:
            raise Unfit("")
        return value


class Span(Struct, frozen=True):
    """A time span in µs, *least_us* to *most_us*."""

    least_us: int = 0
    most_us: int = LONGEST_US

    @property
    def allowed(self) -> str:
        words = "a time span such as 30s, 5min or 1h 30min"
        if self.least_us:
            words += f", at least {timespan_text(self.least_us)}"
        if self.most_us < LONGEST_US:
            words += f", at most {timespan_text(self.most_us)}"
        return words

    def read(self, text: str) -> int:
        try:
            span_us = timespan_us(text)
        except BadSpan as err:
            raise Unfit(f"it {err}") from err
        if not self.least_us <= span_us <= self.most_us:
            raise Unfit("")
        return span_us


class Size(Struct, frozen=True):
    """A size in bytes; K is 1024 bytes, as systemd counts."""

    least_bytes: int
    most_bytes: int

    @property
    def allowed(self) -> str:
        least, most = self.least_bytes >> 20, self.most_bytes >> 20
        return f"a size such as 256M or 1G, from {least}M to {most}M"

    def read(self, text: str) -> int:
        if text.isdecimal():
            raise Unfit(f"a bare number has no size: write {text}M")
        size = _SIZE.fullmatch(text)
        if size is None:
            raise Unfit("")
        size_bytes = int(size[1]) * _SIZES[size[2]]
        if not self.least_bytes <= size_bytes <= self.most_bytes:
            raise Unfit("")
        return size_bytes


class Percent(Struct, frozen=True):
    """A share in percent, 0 to 100, as a float."""

    @property
    def allowed(self) -> str:
        return "a share such as 85%, 0% to 100%"

    def read(self, text: str) -> float:
        share = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%", text, re.ASCII)
        if share is None or float(share[1]) > 100:
            raise Unfit("")
        return float(share[1])


class Rate(Struct, frozen=True):
    """So many in a time span, as a Budget."""

    @property
    def allowed(self) -> str:
        return "a number and a span, such as 4 per 1h"

    def read(self, text: str) -> Budget:
        rate = _RATE.fullmatch(text)
        if rate is None:
            raise Unfit("")
        try:
            per_us = timespan_us(rate[2])
        except BadSpan as err:
            raise Unfit(f"the span {err}") from err
        if not 1 <= int(rate[1]) <= 1000 or not per_us:
            raise Unfit("from 1 to 1000, and a span that is not 0")
        return Budget(int(rate[1]), per_us)
