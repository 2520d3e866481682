"""healthd on clocks that a test moves: the real program, with one function of it stood in for.

The product has no switch for this. Run as a program it starts healthd; a test holds `MovedClocks`.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from healthd.daemon import clock, life

VARIABLE = "TESTS_MOVED_CLOCKS"
PROGRAM = "from tests.bus.moved_clocks import main; main()"
_NAMES = {
    time.CLOCK_BOOTTIME: "boottime",
    time.CLOCK_MONOTONIC: "monotonic",
    time.CLOCK_REALTIME: "wall",
}


class MovedClocks:
    """How far each clock of one healthd is from the machine's own."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clocks"
        self._moved_us = dict.fromkeys(_NAMES.values(), 0)
        self._write()

    @property
    def environ(self) -> dict[str, str]:
        """What healthd is to be started with."""
        return {VARIABLE: str(self._file)}

    def sleep(self, seconds: float, *, monotonic: bool = False) -> None:
        """The machine sleeps so long; *monotonic*: that clock runs on in it, as in s2idle."""
        names = ("boottime", "wall", "monotonic") if monotonic else ("boottime", "wall")
        self._move(names, seconds)

    def step(self, seconds: float) -> None:
        """Somebody sets the wall clock."""
        self._move(("wall",), seconds)

    def _move(self, names: tuple[str, ...], seconds: float) -> None:
        for name in names:
            self._moved_us[name] += int(seconds * 1_000_000)
        self._write()

    def _write(self) -> None:
        # All clocks move in the same instant.
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(self._moved_us))
        new.rename(self._file)


def main() -> None:
    """healthd's own main, on clocks as far off as the file says now."""
    file, read_us = Path(os.environ[VARIABLE]), clock.read_us

    def moved_us(which: int) -> int:
        return read_us(which) + int(json.loads(file.read_text())[_NAMES[which]])

    clock.read_us = moved_us
    life.main()
