"""The keys of `host`, `credentials` and `coverage`, as types: the only source of what may stand."""

from __future__ import annotations

import datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from healthd.model import HOUR_US, MINUTE_US
from healthd.settings import forms, quantities
from healthd.settings.words import Path, Percent, Service, Span, Url, Word


class DiskKeys(Struct, frozen=True):
    """`host.disk`."""

    yellow: Percent = 85.0
    red: Percent = 95.0
    inodes: Percent = 95.0
    ignore: tuple[str, ...] = ()


class MemoryKeys(Struct, frozen=True):
    """`host.memory`; `pressure` is PSI's share of time in which all waited."""

    yellow: Percent = 10.0
    red: Percent = 3.0
    pressure: Annotated[int, quantities.Number(1, 100)] = 40


class SensorLimit(StrEnum):
    """The limits that a sensor itself names."""

    HIGH = "high"
    CRITICAL = "critical"


class TemperatureKeys(Struct, frozen=True):
    """`host.temperature`."""

    yellow: SensorLimit = SensorLimit.HIGH
    red: SensorLimit = SensorLimit.CRITICAL


class HostKeys(Struct, frozen=True):
    """`host`: on by default; false switches one off."""

    disk: DiskKeys | bool = DiskKeys()
    memory: MemoryKeys | bool = MemoryKeys()
    temperature: TemperatureKeys | bool = TemperatureKeys()
    clock: bool = True
    raid: bool = True
    reboot_required: bool = True


class CredentialFormat(StrEnum):
    """What a credential's file holds."""

    OAUTH2 = "oauth2"
    X509 = "x509"
    KERBEROS = "kerberos"


class RefreshKeys(Struct, frozen=True):
    """`refresh` of a credential: an issuer, or a unit that does it."""

    token_url: Url = ""
    client: Word = ""
    unit: Service = ""


class ProbeKeys(Struct, frozen=True):
    """`probe` of a credential."""

    url: Url
    every: Annotated[int, quantities.Span(MINUTE_US)] = HOUR_US


class CredentialKeys(Struct, frozen=True):
    """One credential under `credentials`."""

    file: Path
    format: CredentialFormat
    subject: str = ""
    refresh: RefreshKeys | None = None
    probe: ProbeKeys | None = None
    remedy: str = ""
    yellow: Span | None = None
    red: Span | None = None


class CoverageKeys(Struct, frozen=True):
    """`coverage`."""

    declare_by: Annotated[datetime.date, forms.Date()] | None = None
