"""What `healthctl verify` says: faults, what is not built yet, what will hurt. No daemon needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import Struct

from healthd.model import DeclaredCheck, Endpoint, TcpSpec
from healthd.settings.faults import Fault, Remark
from healthd.settings.files import MAIN_FILE, read_installed, read_named
from healthd.settings.load import Reading, read

#: Servers that log every connection that says nothing: by port, and by socket unit.
_OFFENDED_PORTS = {22: "sshd", 25: "a mail server", 465: "a mail server", 587: "a mail server"}
_OFFENDED_UNITS = {"ssh.socket": "sshd", "sshd.socket": "sshd"}


class Report(Struct, frozen=True):
    """All there is to say, each part in the order of its places."""

    faults: tuple[Fault, ...] = ()
    notes: tuple[Remark, ...] = ()
    warnings: tuple[Remark, ...] = ()

    @property
    def is_well(self) -> bool:
        """Whether these settings would be taken."""
        return not self.faults

    def lines(self) -> tuple[str, ...]:
        """One line each: faults, then warnings, then notes."""
        return (
            *(f"fault: {fault}" for fault in self.faults),
            *(f"warning: {remark}" for remark in self.warnings),
            *(f"note: {remark}" for remark in self.notes),
        )


def verify(
    environ: Mapping[str, str],
    files: tuple[Path, ...] = (),
    root: Path = Path("/"),
    units: Collection[str] = (),
) -> Report:
    """Judge the installed settings, or *files* as if they were all there is.

    *units*: the names that exist, where somebody knows; then names that do not are warned of.
    """
    sources, faults = read_named(files) if files else read_installed(root)
    reading = read(sources, faults, environ, root, units)
    place = str(files[-1]) if files else str(root / MAIN_FILE)
    return Report(reading.faults, reading.notes, tuple(_warnings(reading, place, units)))


def _warnings(reading: Reading, place: str, units: Collection[str]) -> list[Remark]:
    words = [
        f"{declared.check.key}: a bare tcp check fills the log of {offended}; "
        "let it expect the greeting, or check it with exec"
        for declared in reading.settings.declared
        if (offended := _offended(declared))
    ]
    if units:
        words += [
            f"{name} is named, but there is no such unit"
            for name in sorted(reading.settings.named_units() - set(units))
        ]
    return [Remark(place, 0, 0, text) for text in words]


def _offended(declared: DeclaredCheck) -> str:
    """Who would log each look of a check that connects and says nothing, or ""."""
    match declared.spec:
        case TcpSpec(endpoint=Endpoint() as endpoint, send=b"", expect=b""):
            return _OFFENDED_PORTS.get(endpoint.port, "") or _OFFENDED_UNITS.get(endpoint.unit, "")
    return ""
