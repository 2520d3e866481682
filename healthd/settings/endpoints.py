"""`listens` → the endpoints that checks name, and whether one may be another machine's. Pure."""

from __future__ import annotations

import ipaddress

from healthd.model import Endpoint, UnitName
from healthd.settings.decode import nearest
from healthd.settings.faults import shown
from healthd.settings.ground import Ground, Steps
from healthd.settings.schema import ListenKeys

_ONE_OF = ("unit", "address", "unix")
_MOST_NAMED = 12


def endpoints_of(ground: Ground) -> dict[str, Endpoint]:
    """Every endpoint that could be read, by its name."""
    endpoints = {}
    for name, listens in ground.root.listens.items():
        endpoint = _endpoint(name, listens)
        steps = ("listens", name)
        written = [key for key in ground.written(steps) if key in _ONE_OF]
        if endpoint is not None:
            endpoints[name] = endpoint
        if len(written) != 1:
            found = f"{name} with {' and '.join(written) or 'no place to connect to'}"
            ground.fault(steps, found, "exactly one of unit, address and unix")
    return endpoints


def find_endpoint(
    name: str, steps: Steps, endpoints: dict[str, Endpoint], ground: Ground
) -> Endpoint | None:
    """The endpoint that a check at *steps* names; None after a fault, here or under `listens`."""
    known = ground.written(("listens",))
    if name not in known:
        listed = ", ".join(known[:_MOST_NAMED]) + (", …" if len(known) > _MOST_NAMED else "")
        allowed = f"a name under listens ({listed})" if known else "a name under listens"
        hint = nearest(name, known)
        ground.fault((*steps, "endpoint"), f"endpoint: {shown(name)}", allowed, hint)
    return endpoints.get(name)


def is_remote(endpoint: Endpoint) -> bool:
    """Whether its address may lie outside of this machine, as far as the text alone tells."""
    if not endpoint.host or endpoint.host.rstrip(".").lower().split(".")[-1] == "localhost":
        return False
    try:
        address = ipaddress.ip_address(endpoint.host)
    except ValueError:
        return True
    return not (address.is_loopback or address.is_unspecified)


def _endpoint(name: str, listens: ListenKeys) -> Endpoint | None:
    match listens:
        case ListenKeys(unit=str(unit), address=None, unix=None):
            return Endpoint(name, unit=UnitName(unit))
        case ListenKeys(unit=None, address=(str(host), int(port)), unix=None):
            return Endpoint(name, host=host, port=port)
        case ListenKeys(unit=None, address=None, unix=str(unix)):
            return Endpoint(name, unix=unix)
    return None
