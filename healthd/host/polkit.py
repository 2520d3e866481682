"""Ask polkit whether a caller may do something. Whatever is not a clear yes is no.

Never caches an answer: rules change under us.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping

from healthd.bus.connection import Connection, Variant
from healthd.errors import HealthdError
from healthd.model import Permission

log = logging.getLogger(__name__)

POLKIT = "org.freedesktop.PolicyKit1"
AUTHORITY_PATH = "/org/freedesktop/PolicyKit1/Authority"
AUTHORITY = "org.freedesktop.PolicyKit1.Authority"
ALLOW_INTERACTION = 1
# A rule answers in milliseconds, also when polkit has to be started first.
ANSWER_LIMIT_S = 10.0
# A person looks for a password.
PERSON_LIMIT_S = 300.0


async def authorize(
    connection: Connection,
    sender: str,
    action: str,
    details: Mapping[str, str],
    interactive: bool,
    *,
    limit_s: float | None = None,
) -> Permission:
    """Whether the owner of the unique name *sender* may do *action*.

    *details* are shown to whoever is asked for a password and reach polkit's rules. *interactive*:
    somebody may be asked, which can take minutes: run this as a task. Cancelling it takes the
    question back.
    """
    limit_s = limit_s or (PERSON_LIMIT_S if interactive else ANSWER_LIMIT_S)
    question = secrets.token_hex(8)
    # Only a unique name belongs to one process for ever.
    subject = ("system-bus-name", {"name": Variant("s", sender)})
    flags = ALLOW_INTERACTION if interactive else 0
    try:
        (answer,) = await connection.call(
            POLKIT,
            AUTHORITY_PATH,
            AUTHORITY,
            "CheckAuthorization",
            "(sa{sv})sa{ss}us",
            (subject, action, dict(details), flags, question),
            limit_s=limit_s,
            # polkitd ends when nobody has asked it for a while.
            auto_start=True,
        )
    except HealthdError as err:
        log.warning("polkit does not say whether %s may %s: %s", sender, action, err.message)
        if err.code == "bus-slow":
            take_back(connection, question)
        return Permission.REFUSED
    except asyncio.CancelledError:
        take_back(connection, question)
        raise
    return decode(answer)


def decode(answer: object) -> Permission:
    """CheckAuthorization's (bba{ss}): authorized, challenge, details."""
    match answer:
        case [True, *_]:
            return Permission.GRANTED
        case [False, True, *_]:
            return Permission.PASSWORD
        case _:
            return Permission.REFUSED


def take_back(connection: Connection, question: str) -> None:
    """A question that nobody waits for any more; a person may still be looking at it."""
    connection.tell(POLKIT, AUTHORITY_PATH, AUTHORITY, "CancelCheckAuthorization", "s", (question,))
