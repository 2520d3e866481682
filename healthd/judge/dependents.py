"""Who is told when a unit that others need is another than before. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from healthd.judge.providers import holding, is_up, needs_of_story
from healthd.model import Aspect, Now, ProviderMoved, Reason, State, Story, Watch


def hangs_on_others(watch: Watch) -> bool:
    """Whether the fate of a provider may change what is said of this check now."""
    verdict = watch.verdict
    if watch.check.aspect is Aspect.LIVENESS and verdict.reason is Reason.NOT_CONFIGURED:
        # At rest, perhaps because a start that it needed has failed.
        return True
    return verdict.state is State.RED or verdict.reason in (Reason.SUSPECT, Reason.WAITING)


def _concerned(story: Story) -> bool:
    """Whether the fate of a provider means anything to this story now."""
    return any(hangs_on_others(w) for w in story.watches)


def _fell_with(story: Story, provider: str) -> bool:
    last = story.run.last
    return last is not None and last.by == provider


class Dependents:
    """Who needs a unit, directly or through others: the way back from a provider."""

    def __init__(self) -> None:
        self._needs: dict[str, frozenset[str]] = {}
        self._needed_by: dict[str, set[str]] = {}

    def keep(self, story: Story) -> None:
        """Take in what a story needs now; one without a check needs nothing."""
        needs, known = needs_of_story(story), self._needs.get(story.name, frozenset())
        if needs == known:
            return
        for name in known - needs:
            users = self._needed_by[name]
            users.discard(story.name)
            if not users:
                del self._needed_by[name]
        for name in needs - known:
            self._needed_by.setdefault(name, set()).add(story.name)
        self._needs[story.name] = needs
        if not needs:
            del self._needs[story.name]

    def moved(
        self, before: Story, after: Story, stories: Mapping[str, Story], now: Now
    ) -> Iterator[tuple[str, ProviderMoved]]:
        """Whom to tell that a story is another: those for whom that may matter."""
        if after.name not in self._needed_by:
            # Most units are nobody's provider, and what they do costs nothing here.
            return
        held, holds = holding(before, stories, now), holding(after, stories, now)
        rose = is_up(after) and not is_up(before)
        if held == holds and not rose:
            return
        for name in self.of(after.name):
            user = stories.get(name)
            if user is None:
                continue
            if (held != holds and _concerned(user)) or (rose and _fell_with(user, after.name)):
                yield name, ProviderMoved()

    def of(self, name: str) -> Iterator[str]:
        """All that need *name*, nearest first."""
        seen, waiting = {name}, [name]
        while waiting:
            for user in sorted(self._needed_by.get(waiting.pop(0), ())):
                if user not in seen:
                    seen.add(user)
                    waiting.append(user)
                    yield user
