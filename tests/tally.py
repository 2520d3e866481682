"""Count what the test tiers did, and fail when one of them did not run or skipped anything."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

TIERS = ("unit", "bus", "host")


def counts(report: Path) -> tuple[int, int, int]:
    """Tests passed, failed (errors included) and skipped in one JUnit report."""
    passed = failed = skipped = 0
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        left_out = int(suite.get("skipped", 0))
        passed += int(suite.get("tests", 0)) - bad - left_out
        failed += bad
        skipped += left_out
    return passed, failed, skipped


def main(reports: Path) -> int:
    """Print one line a tier and the sum; 0 when every tier ran, with no failure and no skip."""
    total = (0, 0, 0)
    complaints = []
    for tier in TIERS:
        report = reports / f"{tier}.xml"
        passed, failed, skipped = counts(report) if report.is_file() else (0, 0, 0)
        print(f"{tier:5} {passed:4} passed {failed:4} failed {skipped:4} skipped")
        if passed + failed == 0:
            complaints.append(f"the {tier} tests did not run")
        if skipped:
            complaints.append(f"{skipped} of the {tier} tests were skipped")
        total = (total[0] + passed, total[1] + failed, total[2] + skipped)
    for complaint in complaints:
        print(f"error: {complaint}")
    # A tier that did not run counts as a failure, so that the last line never looks well.
    print(f"{total[0]} passed, {total[1] + len(complaints)} failed, {total[2]} skipped", flush=True)
    return 1 if total[1] or complaints else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
