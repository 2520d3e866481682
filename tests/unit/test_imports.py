"""Hold the rooms of the house apart: who may import what, read from the sources without running."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2]
MODULES = sorted((SOURCE / "healthd").rglob("*.py"))

#: What each room may import of healthd besides itself; a longer name narrows the door.
ROOMS: dict[str, tuple[str, ...]] = {
    "model": (),
    "errors": (),
    "settings": ("model", "errors"),
    "checks": ("model", "errors"),
    "judge": ("model",),
    "repairs": ("model", "errors"),
    "channels": ("model", "errors"),
    "store": ("model", "errors"),
    "bus": ("model", "errors"),
    "host": ("model", "errors", "bus.connection"),
    "daemon": (
        *("model", "errors", "settings", "checks", "judge", "repairs", "channels"),
        *("store", "host", "bus"),
    ),
    "ctl": ("model", "errors", "bus"),
    "session": ("model", "errors", "bus"),
}
#: Single files that may import more than their room.
ALSO: dict[str, tuple[str, ...]] = {
    "ctl.hold": ("settings",),
    "ctl.verify": ("settings",),
    "ctl.replay": ("settings", "judge"),
}
#: Where each package of others is spoken to, and nowhere else.
DOORS: dict[str, tuple[str, ...]] = {
    "dbus_fast": ("bus",),
    "dbus_next": ("bus",),
    "h11": ("checks.probe",),
    "jeepney": ("ctl.client",),
    "lmdb": ("store.env",),
    # Every noun is a msgspec.Struct; errors alone stand on the standard library.
    "msgspec": tuple(room for room in ROOMS if room != "errors"),
    "sdnotify": ("daemon.readiness",),
    "systemd": ("host.journal",),
    "yaml": ("settings",),
}
#: What would let the judge see a clock, the outside world or chance.
IMPURE = {
    *("asyncio", "io", "logging", "os", "pathlib", "random", "secrets", "select", "selectors"),
    *("socket", "subprocess", "sys", "tempfile", "threading", "time"),
}


def _name(path: Path) -> str:
    """The module's dotted name below healthd: `checks.http`; a room's own file is the room."""
    parts = path.relative_to(SOURCE / "healthd").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _within(name: str, places: tuple[str, ...]) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


def _imports(path: Path) -> Iterator[str]:
    """Every module that *path* imports, those inside functions and for types too."""
    package = ["healthd", *path.relative_to(SOURCE / "healthd").parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                submodule = SOURCE.joinpath(*module.split("."), f"{alias.name}.py")
                is_module = submodule.is_file() or submodule.with_suffix("").is_dir()
                yield f"{module}.{alias.name}" if is_module else module


def test_rooms_import_only_what_they_may() -> None:
    """A judge that reaches the bus, or a check that knows the store, cannot be tested alone."""
    wrong = []
    for path in MODULES:
        name = _name(path)
        room = name.split(".")[0]
        allowed = (room, *ROOMS.get(room, ()), *ALSO.get(name, ()))
        for imported in _imports(path):
            top, _, inside = imported.partition(".")
            if top == "healthd" and inside and not _within(inside, allowed):
                wrong.append(f"{name} imports {imported}")
    assert wrong == []


def test_every_room_is_known() -> None:
    """A folder without a line in the table would be held by no rule."""
    rooms = {_name(path).split(".")[0] for path in MODULES} - {""}
    assert rooms <= ROOMS.keys()


def test_each_package_of_others_has_one_door() -> None:
    """A library that is spoken to in one place can be replaced there."""
    wrong = []
    for path in MODULES:
        name = _name(path)
        for imported in _imports(path):
            top = imported.split(".")[0]
            if top in sys.stdlib_module_names or top == "healthd":
                continue
            if not _within(name, DOORS.get(top, ())):
                wrong.append(f"{name} imports {imported}")
    assert wrong == []


def test_judge_is_pure() -> None:
    """The same history must give the same effects: in tests, in a replay, after a crash."""
    wrong = [
        f"{_name(path)} imports {imported}"
        for path in MODULES
        if _within(_name(path), ("judge", "model", "repairs.allowlist"))
        for imported in _imports(path)
        if imported.split(".")[0] in IMPURE
    ]
    assert wrong == []


def test_no_file_is_too_long() -> None:
    """Past 400 lines a file has two subjects."""
    lengths = {_name(path): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > 400} == {}
