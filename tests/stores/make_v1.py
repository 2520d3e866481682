"""Make the store of schema 1 beside this file, with one record of every kind and all that nests.

Run by hand, once, when schema 1 is released: `python -m tests.stores.make_v1`. Afterwards the file
stays as it is, for every later healthd to read.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

from healthd.model import (
    ActiveState,
    Aspect,
    Attempt,
    AttemptId,
    AttemptResult,
    Check,
    CheckKey,
    Closing,
    Edition,
    End,
    Evidence,
    FailureClass,
    How,
    Incident,
    IncidentId,
    Notice,
    Outcome,
    PastIncident,
    Phase,
    Reason,
    Run,
    State,
    Story,
    Telling,
    UnitFacts,
    UnitName,
    Urgency,
    Verdict,
    Watch,
)
from healthd.store.records import Batch, Meta
from healthd.store.store import Store

FILE = Path(__file__).parent / "v1" / "data.mdb"
AT = 1_796_047_380_000_000
NGINX = UnitName("nginx.service")
KEY = CheckKey("liveness:nginx.service")


def batch() -> Batch:
    """An engaged incident with one attempt, a closed one, their story, evidence and notice."""
    attempt = Attempt(
        AttemptId(1),
        AT,
        5,
        "restart-unit",
        "healthd",
        NGINX,
        AttemptResult.FAILED,
        "polkit says no",
        6,
        ("web.service",),
    )
    open_one = Incident(
        id=IncidentId(2),
        key=KEY,
        unit=NGINX,
        phase=Phase.ENGAGED,
        reason=Reason.FAILED,
        summary="killed by SIGKILL",
        opened_at=AT,
        opened_us=5,
        attempts=(attempt,),
        tellings=(Telling(AT, 7, Edition.ENGAGED, "journal"),),
        told=True,
        remedy="systemctl restart nginx.service",
        why_engaged="polkit says no",
    )
    closed = Incident(
        id=IncidentId(1),
        key=KEY,
        unit=NGINX,
        phase=Phase.CLOSED,
        reason=Reason.CRASH_LOOP,
        summary="3 ends in 10 min",
        opened_at=AT - 9_000_000,
        opened_us=1,
        closed_at=AT - 8_000_000,
        closed_us=2,
        closing=Closing.SELF_HEALED,
    )
    end = End("a" * 32, 4, AT, How.BY_ITSELF, clean=False)
    story = Story(
        name="nginx.service",
        watches=(
            Watch(
                Check(KEY, Aspect.LIVENESS, "unit", NGINX),
                Verdict(State.RED, Reason.FAILED, "killed by SIGKILL", AT, 2, FailureClass.EXIT),
                last_outcome=Outcome.FAILING,
            ),
        ),
        facts=UnitFacts(NGINX, active_state=ActiveState.FAILED, result="signal"),
        run=Run(invocation="a" * 32, last=end, ends=(end,), starts_us=(3,)),
        incidents=(open_one,),
        attempts=(attempt,),
        restarts_us=(5,),
        closed=(PastIncident(KEY, AT - 8_000_000, Closing.SELF_HEALED),),
    )
    notice = Notice(
        "incident-2",
        IncidentId(2),
        KEY,
        NGINX,
        Edition.ENGAGED,
        Urgency.CRITICAL,
        "nginx.service failed: killed by SIGKILL",
        "nginx.service failed.",
        "systemctl restart nginx.service",
        AT,
    )
    return Batch(
        stories=(story,),
        incidents=(closed, open_one),
        evidence=(Evidence(IncidentId(2), AT, {"exit_status": "9"}, ("a line",), "a look"),),
        outbox_add=(notice,),
        meta=Meta(IncidentId(3), AttemptId(2), 99, "b" * 32, 8, AT, first_start_done=True),
    )


async def main() -> None:
    """Through the store itself, so that the file is what a daemon would have left."""
    with tempfile.TemporaryDirectory() as folder:
        store = await Store.open(Path(folder) / "store", now_at=AT)
        await store.commit(batch())
        await store.close()
        FILE.parent.mkdir(exist_ok=True)
        shutil.copyfile(Path(folder) / "store" / "data.mdb", FILE)


if __name__ == "__main__":
    asyncio.run(main())
