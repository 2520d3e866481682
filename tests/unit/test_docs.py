"""What the documents name is there, and the tables in them say what the sources say."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.unit.test_imports import DOORS, MODULES, ROOMS

ROOT = Path(__file__).parents[2]
TESTS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "tests/README.md"]
#: Folders whose files the documents may name; what is built or installed is not in the checkout.
FOLDERS = "healthd|tests|units|dbus|polkit|man|completion|debian|\\.ci"
#: Files that CONTRIBUTING.md has its reader write.
TO_BE_WRITTEN = {"healthd/checks/dns.py", "healthd/channels/mail.py"}
#: The name under which a package is imported, where that is another than its own.
MODULES_OF = {"pyyaml": "yaml", "systemd-python": "systemd"}
TESTS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: The numbers of the public cases that each have their test.
CASES = (
    *(1, 2, 5, 6, 9, 10, 13, 14, 15, 16, 17, 19, 21, 23, 25, 26, 28, 29, 30, 33, 35, 36, 37, 39),
    *(41, 44, 45, 49, 50, 51, 55, 57, 58, 61, 63),
)


def _read(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def _rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table below *heading*, without its head."""
    lines = text.partition(f"{heading}\n")[2].partition("\n## ")[0].splitlines()
    table = [line for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_a_document_names_is_there(document: str) -> None:
    """A map that names what is gone sends its reader away."""
    named = set(re.findall(rf"`((?:{FOLDERS})/[^`\s:]*)(?:::\w+)?`", _read(document)))
    gone = {name for name in named - TO_BE_WRITTEN if not (ROOT / name).exists()}
    assert named
    assert gone == set()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_test_that_a_document_names_is_there(document: str) -> None:
    """A promise whose test is gone is a promise no longer."""
    missing = []
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", _read(document)):
        tree = ast.parse(_read(file))
        if name not in {node.name for node in tree.body if isinstance(node, TESTS)}:
            missing.append(f"{file}::{name}")
    assert missing == []


def test_every_case_from_the_field_has_its_test() -> None:
    """They happened to somebody; what is not held here happens again."""
    rows = _rows(_read("tests/README.md"), "## Cases from the field")
    assert [cells[0] for cells in rows] == [f"BR-{number:02}" for number in CASES]
    assert [cells[0] for cells in rows if not re.search(r"`tests/[\w/]+\.py::\w+`", cells[3])] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_that_a_document_names_is_there(document: str) -> None:
    """The first thing that a newcomer types must not fail by its name."""
    targets = set(re.findall(r"^([a-z]+):.*##", _read("Makefile"), re.MULTILINE))
    assert set(re.findall(r"(?:`|^# )make ([a-z]+)", _read(document), re.MULTILINE)) <= targets


def test_architecture_can_be_read_in_one_sitting() -> None:
    """Past 250 lines nobody reads it before the change, only after."""
    assert len(_read("ARCHITECTURE.md").splitlines()) <= 250


def test_rooms_are_as_the_imports_are_held() -> None:
    """Two tables of the same rule would drift."""
    rows = _rows(_read("ARCHITECTURE.md"), "## Rooms, and who may import whom")
    said = {
        cells[0].strip("`").removeprefix("healthd/").rstrip("/").removesuffix(".py"): cells[2]
        for cells in rows
    }
    standing = {room for room in ROOMS if list((ROOT / "healthd").glob(f"{room}*"))}
    assert said == {room: ", ".join(ROOMS[room]) for room in standing}


def test_packages_of_others_are_those_that_are_declared() -> None:
    """Each dependency has its reason, and nothing is explained that is not needed."""
    project = tomllib.loads(_read("pyproject.toml"))["project"]
    declared = {*project["dependencies"], *project["optional-dependencies"]["fast"]}
    rows = _rows(_read("ARCHITECTURE.md"), "## Other people's packages")
    assert {cells[0] for cells in rows} == declared


def test_packages_of_others_are_imported_where_it_is_said() -> None:
    """The door that a reader looks for must be the one through which the package comes in."""
    for package, _, where in _rows(_read("ARCHITECTURE.md"), "## Other people's packages"):
        module = MODULES_OF.get(package, package.replace("-", "_"))
        importing = {str(path.relative_to(ROOT)) for path in MODULES if _imports(path, module)}
        if where == "nothing yet":
            assert importing == set(), package
        elif not where.startswith("every room"):
            assert importing == set(re.findall(r"`([^`]+)`", where)), package
        assert module in DOORS


def _imports(path: Path, module: str) -> bool:
    """Whether *path* imports *module*, by statement or, as a D-Bus library, by name."""
    source = path.read_text(encoding="utf-8")
    if re.search(rf"^\s*(?:import|from) {module}\b", source, re.MULTILINE):
        return True
    return "import_module" in source and f'"{module}"' in source
