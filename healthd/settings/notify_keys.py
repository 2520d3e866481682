"""The keys of `notify`, as types: the only source of what is allowed there."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from healthd.model import MINUTE_US, Policy
from healthd.settings import quantities
from healthd.settings.shapes import Trait
from healthd.settings.words import Url, Word


class ChannelName(StrEnum):
    """The ways to reach the owner."""

    JOURNAL = "journal"
    MOTD = "motd"
    DESKTOP = "desktop"
    MAIL = "mail"
    WEBHOOK = "webhook"
    APPRISE = "apprise"
    ALERTMANAGER = "alertmanager"


class MailKeys(Struct, frozen=True):
    """`notify.mail`; *password* names a systemd credential."""

    to: Annotated[tuple[str, ...], Trait.LONE] = ("root",)
    smtp: Url = ""
    password: Word = ""


class WebhookKeys(Struct, frozen=True):
    """`notify.webhook`; *token* names a systemd credential."""

    url: Url
    template: Word = ""
    token: Word = ""


class AppriseKeys(Struct, frozen=True):
    """`notify.apprise`; *urls* names a systemd credential."""

    urls: Word


class AlertmanagerKeys(Struct, frozen=True):
    """`notify.alertmanager`."""

    url: Url


class NotifyKeys(Struct, frozen=True):
    """`notify`."""

    owners: Annotated[tuple[Word, ...], Trait.LATER] = ("sudo", "adm")
    channels: Annotated[tuple[ChannelName, ...] | None, Trait.LATER] = None
    renotify: Annotated[int, quantities.Span(MINUTE_US)] = Policy().renotify_us
    self_healed: bool = False
    mail: Annotated[MailKeys | None, Trait.LATER] = None
    webhook: Annotated[WebhookKeys | None, Trait.LATER] = None
    apprise: Annotated[AppriseKeys | None, Trait.LATER] = None
    alertmanager: Annotated[AlertmanagerKeys | None, Trait.LATER] = None
