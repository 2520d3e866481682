"""Every channel that healthd brings along, by the name that `notify.channels` uses."""

from __future__ import annotations

from healthd.channels import journal
from healthd.channels.base import Deliver

CHANNELS: dict[str, Deliver] = {
    "journal": journal.deliver,
}
