"""The evaluation of gates: the baseline, the gates of the project, and those of plugins."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pytest_crmeval.options.reading import options_of
from pytest_crmeval.report.baselines import Baseline, BaselineError, is_of_run, load
from pytest_crmeval.report.gate import Gate, applicable_gates
from pytest_crmeval.report.gating import judge
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.ruling import Ruling


class GateEvaluation:
    """Evaluates the gates of one run, once."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._options = options_of(config)
        self._baseline: Baseline | None = None
        self.idle: Sequence[Gate] = ()
        """Gates on suites that were not selected."""
        self.note = ""
        """Notes about the baseline, for the summary."""

    def load_baseline(self) -> None:
        """Load the baseline before anything is paid for; UsageError if the command line names one that can't be read.

        A baseline that only the project's settings name may be missing: there is none before the first run.
        """
        options = self._options
        given = options.baseline or options.baseline_file
        if not given:
            return
        here = self._config.invocation_params.dir if options.baseline else self._config.rootpath
        where = "--crmeval-baseline" if options.baseline else "crmeval_baseline"
        if is_of_run(given, options.reports, options.run, here):
            raise pytest.UsageError(f"{where} {given!r}: this is the current run; name another one")
        try:
            root = self._config.rootpath
            self._baseline = load(given, options.reports, root, here=here, path=options.baseline_file)
        except BaselineError as error:
            if options.baseline or (self._config.rootpath / given).exists():
                raise pytest.UsageError(f"{where} {error}") from None
            self.note = f"there is no baseline yet: copy a report to {given}"

    def judged(self, report: Report) -> Report:
        """Return the report with its comparison and the rulings of all gates.

        A shard can't be compared with a whole run, and no gate is evaluated on it: crmeval merge does both.
        """
        if self._options.shard is not None:
            return report
        if self._baseline is not None:
            from pytest_crmeval.report.compare import compare

            comparison = compare(report, self._baseline.report, source=self._baseline.source)
            report = replace(report, comparison=comparison)
        gates = self._options.gates
        if not self._config.getoption("crmeval_gate"):  # gates of the command line are always evaluated
            gates, self.idle = applicable_gates(gates, report, self._options.named_agents)
        baseline = self._baseline.report if self._baseline else None
        report = replace(report, rulings=tuple(judge(gates, report, baseline)))
        returned = self._config.hook.pytest_crmeval_gate(config=self._config, report=report)
        found = [ruling for each in returned for ruling in (each if isinstance(each, list | tuple) else [each])]
        for ruling in found:
            if not isinstance(ruling, Ruling):
                raise pytest.UsageError(f"pytest_crmeval_gate must return rulings or None, not {ruling!r}")
        return replace(report, rulings=(*report.rulings, *(replace(ruling, of_plugin=True) for ruling in found)))
