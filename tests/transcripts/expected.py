"""What the recordings must be read as: written by hand from what was done while they were made."""

from __future__ import annotations

CONSUMERS = tuple(f"c-{kind}.service" for kind in ("bindsto", "partof", "requires", "requisite"))
PROVIDERS = dict.fromkeys(CONSUMERS, ("prov.service",)) | {
    "depfail.service": ("badprov.service",),
    "tied.service": ("base.service",),
}
#: Of those, whose end stops the unit however it came (BindsTo=).
BOUND = {"c-bindsto.service": ("prov.service",), "tied.service": ("base.service",)}
FOES = {"plain.service": ("confl.service",)}

#: What the recordings do not show of a unit, from its unit file.
KNOWN: dict[str, dict[str, object]] = {
    "cond.service": {"condition_checked": True, "condition_met": False},
    "idle.service": {"on_demand": "idle.socket"},
    "job-bad.service": {"service_type": "oneshot"},
    "k-beat.service": {"service_type": "oneshot"},
    "k-skip.service": {"service_type": "oneshot"},
    "job-ok.service": {"service_type": "oneshot"},
    "r-always.service": {"restart": "always", "start_limit_burst": 4},
    "r-on-failure.service": {"restart": "on-failure", "start_limit_burst": 4},
    "r-oneshot.service": {"service_type": "oneshot"},
    "sa.service": {"on_demand": "sa.socket"},
}

Words = tuple[str, ...]

STOPPED: Words = ("asked",)
RESTARTED: Words = ("asked", "started")
DIED: Words = ("by-itself, unclean",)
ALONG: Words = ("taken-along prov.service",)
ALONG_AND_BACK: Words = ("taken-along prov.service", "started again")
CRASH: Words = ("by-itself, unclean", "started automatically")
LIMIT: Words = ("started", *CRASH, *CRASH, *CRASH, *DIED)

#: How the invocations of each unit ended and began, in order.
ENDS: dict[str, dict[str, Words]] = {
    "a-stop": {"plain.service": STOPPED},
    "a2-stop-execstop": {"execstop.service": STOPPED},
    "a3-stop-quiet": {"quiet.service": STOPPED},
    "a4-stop-forking": {"forky.service": STOPPED},
    "a5-stop-notify": {"notifyd.service": STOPPED},
    "b1-provider-stopped": {"prov.service": STOPPED} | dict.fromkeys(CONSUMERS, ALONG),
    # What is bound to a unit that crashes is stopped at once and stays down; what requires it is
    # restarted along with the unit's automatic restart.
    "b2-provider-crashed-restart": {
        "prov.service": CRASH,
        **dict.fromkeys(CONSUMERS, ALONG_AND_BACK),
        "c-bindsto.service": ALONG,
    },
    "b3-provider-restarted": {
        "prov.service": RESTARTED,
        **dict.fromkeys(CONSUMERS, ALONG_AND_BACK),
    },
    "b4-provider-sigterm-exits-clean": {
        "prov.service": ("by-itself",),
        "c-bindsto.service": ALONG,
    },
    "c-exit0": {"exit0.service": ("started", "by-itself")},
    "d-kill-term": {"plain.service": ("by-itself",)},
    "d2-systemctl-kill": {"plain.service": ("by-itself",)},
    "d3-kill-term-forking": {"forky.service": ("by-itself",)},
    "e-conflict": {
        "confl.service": ("started",),
        "plain.service": ("pushed-out confl.service",),
    },
    "f1-deb-invoke-restart": {"plain.service": RESTARTED},
    "f2-deb-invoke-stop": {"plain.service": RESTARTED},
    "g-disable-now": {"plain.service": STOPPED},
    "h-mask-now": {"vend.service": STOPPED},
    # The bus is stopped before plain.service is.
    "i-isolate": {"ign.service": ("started",)},
    # StopWhenUnneeded= makes no provider: what it stops was not meant to run any more.
    "k-stop-when-unneeded": {"needer.service": STOPPED, "unneeded.service": STOPPED},
    "l-restart": {"plain.service": RESTARTED},
    "m-start-condition": {},
    "n-stop-start-quick": {"plain.service": RESTARTED},
    "p-dependency-failed": {
        "badprov.service": ("started", *DIED),
        "depfail.service": ("by-itself, unclean",),
    },
    "q1-always": {"r-always.service": LIMIT},
    "q2-onfailure": {"r-on-failure.service": LIMIT},
    "q3-onabnormal": {"r-on-abnormal.service": ("started", *DIED)},
    "q5-direct": {
        "r-direct.service": ("started", *CRASH, *CRASH, *DIED, "asked, unclean"),
    },
    "q6-steps": {
        "r-steps.service": ("started", *CRASH, *CRASH, *CRASH, *CRASH, *DIED, "asked, unclean"),
    },
    "q7-force": {"r-force.service": ("started", *CRASH, *CRASH, "asked")},
    "q8-prevent": {"r-prevent.service": ("started", "by-itself")},
    "q9-oneshot-onfailure": {
        "r-oneshot.service": ("started", *CRASH, *CRASH, *CRASH, "asked, unclean"),
    },
    "q10-upheld": {
        "upholder.service": ("started", "asked"),
        "upheld.service": ("started", *(6 * (*DIED, "started again")), "asked"),
    },
    "q11-socket": {
        "sa.socket": ("started", "asked"),
        "sa.service": ("started again", *(6 * (*DIED, "started again")), "asked"),
    },
    "q12-watchdog": {"wd.service": ("started", *CRASH, *CRASH, *CRASH, "asked")},
    "q13-admin-restart-loop": {"plain.service": 4 * RESTARTED},
    "q14-admin-restart-in-autorestart": {"longres.service": ("started", *DIED, "started")},
    "q15-admin-stop-in-autorestart": {"longres.service": (*DIED, "asked, unclean")},
    "q16-reset-failed-in-autorestart": {"longres.service": ("started", *CRASH)},
    "q17-kill-asked-start-after-crash": {"plain.service": (*DIED, "started")},
    "daemon-reexec": {},
    "poweroff": {},
    "soft-reboot": {},
    "broker-a-stop": {"plain.service": STOPPED},
    "broker-kill9": {"prov.service": CRASH},
    "broker-spoof": {"plain.service": ("started",)},
    "s1-notify-stopping-self": {"stopping.service": ("started", "by-itself")},
    "s2-stop-timeout-killed": {"stoptimeout.service": ("asked, unclean",)},
    "s3-runtime-max": {"runtimemax.service": ("started", *DIED)},
    "s4-stop-in-auto-restart": {"longres.service": (*DIED, "asked, unclean")},
    "s5-restart-whose-start-fails": {"badrestart.service": (*RESTARTED, *DIED)},
    "s6-stop-exit-code-3": {"stopfail.service": ("asked, unclean",)},
    "s7-exit-with-slow-stop-post": {"stoppost.service": ("started", "by-itself")},
    "s8-dbus-name-lost": {"dn.service": ("started", "by-itself")},
    # In the midst of a reload, or of a reexec that lets no signal through for half a second.
    "t1-reload-crashes": {"crashy.service": (*CRASH, *CRASH), "mortal.service": DIED},
    "t2-reexec-crashes": {"crashy.service": (*CRASH, *CRASH), "mortal.service": DIED},
    "t3-collect": {"collected.service": ("started", *DIED)},
    "t4-watchdog": {"hung.service": ("started", *DIED)},
    "t5-timer-ok": {"job-ok.timer": ("started",), "job-ok.service": ("started", "by-itself")},
    "t6-timer-fails": {"job-bad.timer": ("started",), "job-bad.service": ("started", *DIED)},
    "u1-timer-stopped": {
        "k-beat.timer": ("started", "asked"),
        "k-beat.service": ("started", "by-itself"),
    },
    # A condition that is not met makes no invocation.
    "u2-timer-skipped": {"k-skip.timer": ("started",)},
    "u3-timer-reload": {
        "k-beat.timer": ("started",),
        "k-beat.service": ("started", "by-itself"),
    },
    "t7-socket-idles-out": {
        "idle.service": ("started again", "by-itself", "started again", "by-itself"),
    },
    "t8-upheld-stopped": {"kept.service": RESTARTED},
    "t9-exec-condition": {"execcond.service": ("started", "by-itself")},
    "t10-path-condition": {"pathcond.service": STOPPED},
    "t11-mount-fails": {"mnt-bad.mount": ("started", *DIED)},
    # Nobody can say: `umount` orders no job.
    "t12-umount": {"mnt-good.mount": ("by-itself",)},
    "t13-restart-steps": {"steps.service": ("started", *(5 * CRASH), *DIED, "asked, unclean")},
    # Its own Restart=always does not bring back what a stop job took down.
    "t14-bound-restarts": {"base.service": CRASH, "tied.service": ("taken-along base.service",)},
}
#: Stopped while it ran on one host, and while its restart was pending on the other.
ENDS_OF_ONE_HOST: dict[str, dict[str, Words]] = {
    "r1-q4-always-exit0": {
        "r-always0.service": (
            *("started", "by-itself", "started automatically"),
            *("by-itself", "started automatically", "asked"),
        ),
    },
    "f1-q4-always-exit0": {
        "r-always0.service": (
            "started",
            "by-itself",
            "started automatically",
            "by-itself",
            "asked",
        ),
    },
}

GREY_STOPPED = "not-judged stopped: stopped"
WAITING = "not-judged waiting: stopped along with prov.service"
RUNNING = "ok ok: running"
CHURNED = "degraded churned: ended by itself … ago and was started again"
TERMED = "failing exited: ended by SIGTERM, not by systemd"
KILLED_BEFORE = "not-judged stopped: stopped (killed by SIGKILL before it was stopped)"
UNWANTED = "not-judged not-configured: nothing wants it"

#: What the unit looks like when the recording ends, by what `systemctl show` says then.
LOOKS: dict[str, dict[str, str]] = {
    "a-stop": {"plain.service": GREY_STOPPED},
    "a2-stop-execstop": {"execstop.service": GREY_STOPPED},
    "a3-stop-quiet": {"quiet.service": GREY_STOPPED},
    "a4-stop-forking": {"forky.service": GREY_STOPPED},
    "a5-stop-notify": {"notifyd.service": GREY_STOPPED},
    "b1-provider-stopped": {"prov.service": GREY_STOPPED} | dict.fromkeys(CONSUMERS, WAITING),
    "b2-provider-crashed-restart": {
        "prov.service": CHURNED,
        **dict.fromkeys(CONSUMERS, RUNNING),
        "c-bindsto.service": WAITING,
    },
    "b3-provider-restarted": dict.fromkeys(("prov.service", *CONSUMERS), RUNNING),
    "b4-provider-sigterm-exits-clean": {
        "prov.service": TERMED,
        **dict.fromkeys(CONSUMERS, RUNNING),
        "c-bindsto.service": WAITING,
    },
    "c-exit0": {"exit0.service": "degraded degraded: ended by itself after …"},
    "d-kill-term": {"plain.service": TERMED},
    "d2-systemctl-kill": {"plain.service": TERMED},
    "d3-kill-term-forking": {"forky.service": TERMED},
    "e-conflict": {
        "confl.service": RUNNING,
        "plain.service": ("not-judged stopped: stopped for confl.service, which conflicts with it"),
    },
    "f1-deb-invoke-restart": {"plain.service": RUNNING},
    "f2-deb-invoke-stop": {"plain.service": RUNNING},
    "g-disable-now": {"plain.service": GREY_STOPPED},
    "h-mask-now": {"vend.service": "not-judged not-configured: masked"},
    "i-isolate": {
        "ign.service": RUNNING,
        "plain.service": "not-judged stopped: stopped; systemd no longer says by whom",
    },
    "k-stop-when-unneeded": {"needer.service": GREY_STOPPED, "unneeded.service": GREY_STOPPED},
    "l-restart": {"plain.service": RUNNING},
    "m-start-condition": {"cond.service": "not-judged not-configured: condition not met"},
    "n-stop-start-quick": {"plain.service": RUNNING},
    "p-dependency-failed": {
        "badprov.service": "failing failed: exit code 1",
        "depfail.service": "failing exited: systemd refused its start",
    },
    "q3-onabnormal": {"r-on-abnormal.service": "failing failed: exit code 1"},
    "q4-always-exit0": {"r-always0.service": GREY_STOPPED},
    "q5-direct": {"r-direct.service": GREY_STOPPED},
    "q6-steps": {"r-steps.service": GREY_STOPPED},
    "q7-force": {"r-force.service": GREY_STOPPED},
    "q8-prevent": {"r-prevent.service": UNWANTED},
    "q9-oneshot-onfailure": {
        "r-oneshot.service": ("not-judged stopped: stopped (killed by SIGTERM when asked to stop)"),
    },
    "q10-upheld": {"upholder.service": GREY_STOPPED, "upheld.service": GREY_STOPPED},
    "q11-socket": {"sa.service": GREY_STOPPED},
    "q12-watchdog": {"wd.service": GREY_STOPPED},
    "q13-admin-restart-loop": {"plain.service": RUNNING},
    "q14-admin-restart-in-autorestart": {"longres.service": CHURNED},
    # systemd has unloaded it, and its Result with it.
    "q15-admin-stop-in-autorestart": {"longres.service": GREY_STOPPED},
    "q16-reset-failed-in-autorestart": {"longres.service": CHURNED},
    "q17-kill-asked-start-after-crash": {"plain.service": CHURNED},
    "broker-a-stop": {"plain.service": GREY_STOPPED},
    "broker-kill9": {"prov.service": CHURNED},
    "broker-spoof": {"plain.service": RUNNING},
    "s1-notify-stopping-self": {
        "stopping.service": "degraded degraded: ended by itself after …",
    },
    "s2-stop-timeout-killed": {
        "stoptimeout.service": ("not-judged stopped: stopped (timed out when asked to stop)"),
    },
    "s3-runtime-max": {"runtimemax.service": "failing failed: timed out"},
    "s4-stop-in-auto-restart": {"longres.service": KILLED_BEFORE},
    "s5-restart-whose-start-fails": {
        "badrestart.service": "failing failed: a start command failed",
    },
    "s6-stop-exit-code-3": {
        "stopfail.service": "not-judged stopped: stopped (exit code 3 when asked to stop)",
    },
    "s7-exit-with-slow-stop-post": {
        "stoppost.service": "degraded degraded: ended by itself after …",
    },
    "s8-dbus-name-lost": {"dn.service": TERMED},
    "t1-reload-crashes": {
        "crashy.service": CHURNED,
        "mortal.service": "failing failed: killed by SIGKILL",
    },
    "t2-reexec-crashes": {
        "crashy.service": CHURNED,
        "mortal.service": "failing failed: killed by SIGKILL",
    },
    # systemd has unloaded it, and forgotten all.
    "t3-collect": {"collected.service": UNWANTED},
    "t4-watchdog": {"hung.service": "failing failed: watchdog timeout"},
    "t5-timer-ok": {},
    "t6-timer-fails": {"job-bad.service": "failing failed: exit code 4"},
    "u1-timer-stopped": {},
    "u2-timer-skipped": {},
    "u3-timer-reload": {},
    "t7-socket-idles-out": {
        "idle.socket": "ok ok: listening",
        "idle.service": "ok ok: started on demand by idle.socket",
    },
    "t8-upheld-stopped": {"upholds.service": RUNNING, "kept.service": RUNNING},
    "t9-exec-condition": {
        "execcond.service": "not-judged not-configured: condition not met: ExecCondition",
    },
    "t10-path-condition": {"pathcond.service": GREY_STOPPED},
    "t11-mount-fails": {"mnt-bad.mount": "failing failed: a start command failed"},
    "t12-umount": {"mnt-good.mount": UNWANTED},
    "t13-restart-steps": {"steps.service": GREY_STOPPED},
    "t14-bound-restarts": {
        "base.service": CHURNED,
        "tied.service": "not-judged waiting: stopped along with base.service",
    },
}
GAVE_UP = "exit code 1; systemd gave up after 4 starts in 10 s"
LOOKS_OF_ONE_HOST = {
    "r1-q1-always": {"r-always.service": GAVE_UP},
    "r1-q2-onfailure": {"r-on-failure.service": GAVE_UP},
    # 262 says so itself, and forgets the exit code for it.
    "f1-q1-always": {"r-always.service": "systemd gave up after 4 starts in 10 s"},
}
