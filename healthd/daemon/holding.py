"""Which units a caller means to hold: names in, Ids out, before anything is begun."""

from __future__ import annotations

from healthd.daemon.holds import CEILING_US
from healthd.errors import HealthdError
from healthd.host.systemd import Systemd
from healthd.model import HOUR_US, LoadState, UnitName
from healthd.settings.forms import Unfit
from healthd.settings.unit_names import Unit

UNITS_MOST = 32


async def resolved(units: tuple[str, ...], for_us: int, systemd: Systemd) -> tuple[UnitName, ...]:
    """The Ids behind *units*, each once, in their order.

    Raises HealthdError "invalid-args" or "no-such-unit".
    """
    if not 0 < len(units) <= UNITS_MOST:
        raise HealthdError("invalid-args", f"a hold is on 1 to {UNITS_MOST} units")
    if for_us > CEILING_US:
        hours = CEILING_US // HOUR_US
        raise HealthdError("invalid-args", f"a hold lasts {hours} h at most", "0 is the longest")
    for unit in units:
        _check(unit)
    found = dict.fromkeys([await _id(unit, systemd) for unit in units])
    return tuple(found)


def _check(unit: str) -> None:
    form = Unit()
    try:
        form.read(unit)
    except Unfit as err:
        hint = str(err) or f"needed: {form.allowed}"
        raise HealthdError("invalid-args", f"{unit!r} is no unit's name", hint) from err


async def _id(unit: str, systemd: Systemd) -> UnitName:
    # systemd answers about an alias under the unit's own name.
    rows = await systemd.list_by_names((unit,))
    if not rows or rows[0].load_state is LoadState.NOT_FOUND:
        raise HealthdError("no-such-unit", f"systemd knows no unit {unit}", "systemctl list-units")
    return rows[0].name
