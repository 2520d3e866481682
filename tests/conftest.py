"""What all tests share: nothing they do may depend on the settings of the person who runs them."""

from __future__ import annotations

import os
import signal

import pytest

# A shell ignores these in what it starts in the background, and children inherit that: `healthctl
# monitor` would not end at Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("HEALTHD_")]:
        # Where the trees are and which D-Bus library is meant are the runner's to say.
        if name not in ("HEALTHD_CACHE", "HEALTHD_DBUS"):
            monkeypatch.delenv(name)
