"""What the system cannot show: somebody works on these units, and their failing means nothing."""

from __future__ import annotations

from msgspec import Struct

from healthd.model.words import HoldId, UnitName


class Hold(Struct, frozen=True):
    """One hold. *units* are Ids; *why* is the caller's word, made harmless, for everybody to read.

    *pid* and *uid* are the bus's word of the caller. It began *at*, which is *at_us*.
    """

    id: HoldId
    units: tuple[UnitName, ...]
    why: str
    pid: int
    uid: int
    at: int
    at_us: int
    until_us: int

    @property
    def words(self) -> str:
        """What a check says that is held: "held by pid 812: pg_upgrade"."""
        return f"held by pid {self.pid}: {self.why}" if self.why else f"held by pid {self.pid}"
