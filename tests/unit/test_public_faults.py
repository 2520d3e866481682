"""Whoever may not read the settings is not told by their faults what stands in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthd.settings.faults import Faults
from healthd.settings.load import load

SECRET = "hunter2"

FAULTY = [
    f"{SECRET}: 1\n",
    f"checks: {{a.service: {{http: {{endpoint: web, path: '{SECRET}'}}}}}}\n",
    f"repair: {{allow_restart: ['{SECRET}*.service']}}\n",
    f"defaults: {{every: {SECRET}}}\n",
    f"listens: {{web: {{address: {SECRET}}}}}\n",
    f"{{ {SECRET}\n",
]


@pytest.mark.parametrize("text", FAULTY)
def test_what_was_found_is_in_no_public_words(tmp_path: Path, text: str) -> None:
    """A token in a URL, or a line of a file that the settings were linked to."""
    folder = tmp_path / "etc/healthd"
    folder.mkdir(parents=True)
    (folder / "healthd.yaml").write_text(text)
    with pytest.raises(Faults) as caught:
        load({}, tmp_path)
    public = [fault.public() for fault in caught.value.faults]
    assert not [words for words in public if SECRET in words]
    assert all("healthd.yaml:" in words for words in public)
