"""Tell systemd that we are ready, how many checks stand how, and that the loop is alive."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from sdnotify import SystemdNotifier

_WITHOUT_WATCHDOG_S = 60.0


class Readiness:
    """sdnotify's only door. Without a notify socket every word goes nowhere."""

    def __init__(self) -> None:
        self._notifier = SystemdNotifier()
        self._status = ""

    def ready(self) -> None:
        self._notifier.notify("READY=1")

    def stopping(self) -> None:
        self._notifier.notify("STOPPING=1")

    def status(self, words: str) -> None:
        if words != self._status:
            self._status = words
            self._notifier.notify(f"STATUS={words}")

    async def run(self, words: Callable[[], str]) -> None:
        """Feed the watchdog from the loop: one that stands still is systemd's to restart."""
        while True:
            self._notifier.notify("WATCHDOG=1")
            self.status(words())
            await asyncio.sleep(interval_s())


def interval_s() -> float:
    """Half of what WatchdogSec= allows."""
    allowed_us = os.environ.get("WATCHDOG_USEC", "")
    return (
        int(allowed_us) / 2e6 if allowed_us.isdecimal() and int(allowed_us) else _WITHOUT_WATCHDOG_S
    )


def in_words(counts: dict[str, int], open_incidents: int) -> str:
    """The status line: "96 checks: 90 green, 1 yellow, 1 red, 4 grey; 1 open incident"."""
    parts = [f"{counts[s]} {s}" for s in ("green", "yellow", "red", "grey") if counts.get(s)]
    checks = f"{sum(counts.values())} checks"
    incidents = f"{open_incidents} open incident{'' if open_incidents == 1 else 's'}"
    return f"{checks}: {', '.join(parts)}; {incidents}" if parts else f"{checks}; {incidents}"
