"""A message bus of a test's own: a real dbus-daemon, on which everybody may do everything."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from healthd.bus.connection import Connection

OPEN_POLICY = (
    '<allow send_destination="*" eavesdrop="true"/><allow receive_sender="*"/>'
    '<allow own="*"/><allow user="*"/>'
)


class PrivateBus:
    """Stands in for the system bus; *address* goes into DBUS_SYSTEM_BUS_ADDRESS."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "bus"
        self.address = f"unix:path={self._socket}"
        self._configuration = folder / "bus.conf"
        self._process: subprocess.Popen[str] | None = None
        self.allow()

    def allow(self, *but: str) -> None:
        """The policy: all is allowed, *but* what these rules say. Read at start and reload."""
        self._configuration.write_text(
            f"<busconfig><listen>{self.address}</listen><auth>EXTERNAL</auth>"
            f'<policy context="default">{OPEN_POLICY}{"".join(but)}</policy></busconfig>'
        )

    def start(self) -> None:
        self._process = subprocess.Popen(
            [
                *("dbus-daemon", f"--config-file={self._configuration}"),
                *("--nofork", "--nopidfile", "--nosyslog", "--print-address=1"),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        # The line comes when the bus listens.
        assert self._process.stdout.readline()

    def stop(self) -> None:
        """End it as a crash would; a stopped process dies too."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None
            self._socket.unlink(missing_ok=True)

    def freeze(self) -> None:
        """It lives on and answers nobody."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on where it stood."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    async def reload(self, connection: Connection) -> None:
        """Read the policy again."""
        name = "org.freedesktop.DBus"
        await connection.call(name, "/org/freedesktop/DBus", name, "ReloadConfig", limit_s=10)
