"""`crmeval compare`: two runs, case by case."""

import argparse
import json
import re
import sys

from pytest_crmeval.cli.judging import named_report
from pytest_crmeval.cli.places import add_reports
from pytest_crmeval.cli.terminal import UsageError, width
from pytest_crmeval.domain.formats import headed
from pytest_crmeval.render import comparison as contrasts
from pytest_crmeval.render.markdown import comparison_page
from pytest_crmeval.report.compare import compare
from pytest_crmeval.report.report import Report

HELP = """\
Compare a run with an earlier one, paired case by case: what became better, what became worse, and whether the
difference is significant. A run is named by its id, by a path to its report, or by git:REF[:PATH]; RUN[subject]
means one subject of it.

    crmeval compare yesterday today
    crmeval compare git:main latest --md
    crmeval compare 'nightly[gpt-4.1-mini]' 'nightly[gpt-4.1]'

Cases with the same suite, id and content are paired; repeats of a case are averaged. p-values come from McNemar's exact
test (with repeats or chains, from a sign permutation test). If there are several, they are corrected by Holm's method;
* means significant at 5 %. "detectable" is the minimum detectable difference at 80 % power.

Exit status: 0, even if the later run is worse; 2 if there is no such run. To gate a merge: crmeval gate.
"""
_SUBJECT = re.compile(r"(.+)\[([^\[\]]+)\]")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("before", metavar="OLD", help="the earlier run, or RUN[subject]")
    parser.add_argument("after", metavar="NEW", help="the later run, or RUN[subject]")
    add_reports(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the comparison as JSON (crmeval.comparison/1)")
    form.add_argument("--md", action="store_true", help="print the comparison as Markdown, for a pull request")


def run(options: argparse.Namespace) -> int:
    """Compare, and show what was found."""
    (before, old), (after, new) = (_named(given, options) for given in (options.before, options.after))
    if bool(old) != bool(new):
        raise UsageError("name a subject for both runs or for neither: RUN[subject] RUN[subject]")
    found = compare(after, before, source=options.before, subjects=(new, old) if old else None)
    if not found.contrasts:
        raise UsageError(f"the two runs have nothing in common: {'; '.join(found.missing) or 'they are empty'}")
    if options.json:
        sys.stdout.write(json.dumps({**headed(found.schema), **found.to_dict()}, ensure_ascii=False, indent=1) + "\n")
    elif options.md:
        sys.stdout.write(comparison_page(found))
    else:
        sys.stdout.write(
            "\n".join([f"run {after.run['id']}, {after.run['started']}", *contrasts.lines(found, width=width())]) + "\n"
        )
    return 0


def _named(given: str, options: argparse.Namespace) -> tuple[Report, str]:
    """Return a report, and the subject of it that was named, if any."""
    match = _SUBJECT.fullmatch(given)
    if match is None:
        return named_report(given, options), ""
    report, subject = named_report(match[1], options), match[2]
    there = sorted({summary.subject for summary in report.standings})
    if subject not in there:
        raise UsageError(f"{given}: this run has no subject {subject!r}; subjects: {', '.join(there)}")
    return report, subject
