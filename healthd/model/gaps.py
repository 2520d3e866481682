"""Time in which healthd did not watch: shown as such, counted as neither well nor failing."""

from __future__ import annotations

from msgspec import Struct

from healthd.model.words import SECOND_US

#: A shorter gap holds no look that should have been made: looks are this far apart at least.
GAP_FROM_US = 5 * SECOND_US
#: So many are remembered.
GAPS_KEPT = 100


class Gap(Struct, frozen=True):
    """One stretch of it. *why* in words that follow a colon: "healthd was stopped"."""

    from_at: int
    to_at: int
    why: str
