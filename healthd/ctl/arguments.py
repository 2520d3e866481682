"""Read the command line by hand: argparse alone would take a quarter of a run's time. Pure."""

from __future__ import annotations

from typing import NamedTuple

from healthd.errors import HealthdError


class Verb(NamedTuple):
    """A command: the module that does it, how many names it takes, its own options, what help says.

    *most* None: any number of names. An option that ends in "=" takes a value. *runs*: what comes
    after `--` is no name, but a command to run.
    """

    module: str
    least: int
    most: int | None
    options: tuple[str, ...]
    usage: str
    summary: str
    runs: bool = False


COMMON = ("--json", "--no-pager", "--no-legend", "--quiet", "--no-ask-password")
SHORT = {"-q": "--quiet", "-n": "--limit=", "-h": "--help"}

VERBS = {
    "status": Verb(
        *("status", 0, None, (), "[KEY|UNIT…]"),
        "how this machine is, and how healthd is set up",
    ),
    "checks": Verb("lists", 0, 0, (), "", "every check"),
    "incidents": Verb(
        *("lists", 0, 0, ("--open", "--limit="), "[--open] [--limit N]"),
        "what was red, newest first",
    ),
    "show": Verb(
        *("show", 1, None, (), "KEY|UNIT|ID…"), "all that is known of a check, unit or incident"
    ),
    "why": Verb(
        *("why", 1, None, (), "KEY|UNIT…"), "why a check stands as it does, and who was told"
    ),
    "look": Verb("acts", 0, None, (), "[KEY|UNIT…]", "look now, at all checks or at these"),
    "restart": Verb("acts", 1, 1, (), "UNIT", "restart a unit that is on the list"),
    "hold": Verb(
        *("hold", 1, None, ("--why=", "--for=")),
        "UNIT… [--why TEXT] [--for SPAN] -- COMMAND…",
        "run a command that healthd must not take for a fault",
        runs=True,
    ),
    "monitor": Verb("monitor", 0, 0, (), "", "follow what changes"),
    "verify": Verb("verify", 0, None, (), "[FILE…]", "check the settings, or these files"),
    "version": Verb("version", 0, 0, (), "", "the versions of healthctl and healthd"),
}


class Arguments(NamedTuple):
    """What was asked: the command, its names, its flags, its options' values, and what to run."""

    verb: str
    names: tuple[str, ...]
    flags: frozenset[str]
    values: dict[str, str]
    command: tuple[str, ...] = ()

    def number(self, option: str, default: int) -> int:
        """The value of *option*, at least 1. Raises HealthdError "usage"."""
        text = self.values.get(option)
        if text is None:
            return default
        if not (text.isascii() and text.isdigit()) or not 0 < int(text) < 2**32:
            raise usage_error(f"{option} takes a number above 0, not {text!r}")
        return int(text)


def parse(words: list[str]) -> Arguments:
    """Read the words after the program's name. Raises HealthdError "usage".

    Options may stand anywhere, as with systemctl; after `--` everything is a name, or what `hold`
    runs. No command means `status`; `--help` and `--version` are commands of their own.
    """
    names, rest, flags, values = _sort_out(words)
    if "--help" in flags:
        return Arguments("help", tuple(names[:1]), flags, {})
    if "--version" in flags:
        return Arguments("version", (), flags - {"--version"}, {})
    first = names or rest
    name = first.pop(0) if first else "status"
    verb = VERBS.get(name)
    if verb is None:
        raise usage_error(f"unknown command {name!r}", nearest(name, VERBS))
    if not verb.runs:
        names, rest = [*names, *rest], []
    for option in sorted({*flags, *(f"{key}=" for key in values)}):
        if option not in COMMON and option not in verb.options:
            raise usage_error(f"{name} has no option {option.rstrip('=')}", usage_of(name))
    if len(names) < verb.least or (verb.most is not None and len(names) > verb.most):
        wrong = "needs a name" if len(names) < verb.least else f"takes no {names[-1]!r}"
        raise usage_error(f"{name} {wrong}", usage_of(name))
    if verb.runs and not rest:
        raise usage_error(f"{name} needs a command after --", usage_of(name))
    return Arguments(name, tuple(names), flags, values, tuple(rest))


def _sort_out(
    words: list[str],
) -> tuple[list[str], list[str], frozenset[str], dict[str, str]]:
    """Names, the words after `--`, flags, and values of options."""
    names: list[str] = []
    rest: list[str] = []
    flags: set[str] = set()
    values: dict[str, str] = {}
    known = _known_options()
    left = iter(words)
    for word in left:
        if word == "--":
            rest.extend(left)
        elif word == "-" or not word.startswith("-"):
            names.append(word)
        else:
            option, is_given, value = word.partition("=")
            option = SHORT.get(option, option)
            if option.endswith("=") or f"{option}=" in known:
                option = option.rstrip("=")
                values[option] = value if is_given else _value(option, next(left, None))
            elif option not in known:
                raise usage_error(f"unknown option {option!r}", nearest(option, known))
            elif is_given:
                raise usage_error(f"{option} takes no value")
            else:
                flags.add(option)
    return names, rest, frozenset(flags), values


def _value(option: str, word: str | None) -> str:
    if word is None:
        raise usage_error(f"{option} needs a value")
    return word


def _known_options() -> set[str]:
    return {"--help", "--version", *COMMON, *(o for verb in VERBS.values() for o in verb.options)}


def nearest(word: str, known: object) -> str:
    """ "did you mean …?" with the closest of *known*, else where to read on."""
    # Loaded only for somebody who mistyped.
    from difflib import get_close_matches

    choices = [str(choice).rstrip("=") for choice in known]  # type: ignore[attr-defined]
    close = get_close_matches(word, choices, n=1)
    return f"did you mean {close[0]}?" if close else "see: healthctl --help"


def usage_of(name: str) -> str:
    """ "usage: healthctl show KEY|UNIT|ID…"."""
    return f"usage: healthctl {name} {VERBS[name].usage}".rstrip()


def usage_error(words: str, hint: str = "see: healthctl --help") -> HealthdError:
    """What is raised for a command line that cannot be followed."""
    return HealthdError("usage", words, hint)
