"""What a worker of xdist tells of a test that passed: one report, of five messages about it.

Each message is packed, sent, unpacked and handed to every plugin there, which is half of what a short test costs. Where
a run asks for more of its tests than whether they passed (`--durations`, `--junit-xml`, `-v`), all is told.
"""

from __future__ import annotations

import pytest
from _pytest.runner import runtestprotocol


class _Briefly:
    @pytest.hookimpl
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test; tell of it at its end, and of its set-up and its end where there is something to tell."""
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if report.when == "call" or not report.passed or report.sections:
                item.ihook.pytest_runtest_logreport(report=report)
        return True


def pytest_configure(config: pytest.Config) -> None:
    """In a worker of a run that asks for no more."""
    option = config.option
    asks = option.durations is not None or option.verbose > 0 or option.xmlpath is not None
    if hasattr(config, "workerinput") and not asks:
        config.pluginmanager.register(_Briefly())
