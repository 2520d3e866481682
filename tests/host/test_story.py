"""The one story that `make run` shows a newcomer, told on a machine with real services."""

from __future__ import annotations

import pytest

from tests.host import machine, package, story


@pytest.mark.timeout(600)
def test_story_comes_as_it_is_told() -> None:
    """Heals a web server and tells nobody; gives up on a database, tells once, and is thanked."""
    with machine.boot(package.machine_tree("story", *story.SERVICES), "story") as host:
        try:
            story.tell(host)
        except machine.NotSeen as err:
            raise machine.NotSeen(f"{err}\n{host.journal_tail()}") from err
