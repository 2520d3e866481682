"""Which units are never judged, and how the owner adds to them and takes away."""

from __future__ import annotations

import pytest

from healthd.settings.noise import ignoring


@pytest.mark.parametrize(
    ("unit", "entry"),
    [
        ("getty@tty1.service", "getty@*.service"),
        ("serial-getty@ttyS0.service", "serial-getty@*.service"),
        ("NetworkManager-wait-online.service", "*-wait-online.service"),
        ("systemd-networkd-wait-online@eth0.service", "systemd-*-wait*.service"),
        ("initrd-cleanup.service", "initrd-*.service"),
        ("user@1000.service", "user@*.service"),
        ("nginx.service", ""),
        ("dbus.service", ""),
        ("systemd-logind.service", ""),
    ],
)
def test_shipped_noise(unit: str, entry: str) -> None:
    """What fails or rests on healthy machines alarms nobody; everything else is judged."""
    assert ignoring(unit, ()) == entry


@pytest.mark.parametrize(
    ("entries", "ignored"),
    [
        ((), True),
        (("!NetworkManager-wait-online.service",), False),
        (("!*-wait-online.service",), False),
        (("!NetworkManager-wait-online.service", "Network*.service"), True),
        (("!other.service",), True),
    ],
)
def test_the_last_entry_that_fits_decides(entries: tuple[str, ...], ignored: bool) -> None:
    """A drop-in sorted later can undo what an earlier file said."""
    assert bool(ignoring("NetworkManager-wait-online.service", entries)) is ignored


def test_the_owners_entry_is_named() -> None:
    """Who asks why a unit is not judged is told which entry it was."""
    assert ignoring("flaky.service", ("fl*.service",)) == "fl*.service"
