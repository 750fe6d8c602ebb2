"""A failure is told when it happens: a run that is ended from outside has then said what failed."""

import pytest

LINES = 60  # of a report: what matters stands at its end


class AtOnce:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        screen = self.config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and screen is not None:
            told = report.longreprtext.splitlines()[-LINES:]
            screen.ensure_newline()
            screen.write_sep("-", f"{report.nodeid} failed at {report.when}")
            screen.write_line("\n".join(told))


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # what the shares say comes together in one process
        config.pluginmanager.register(AtOnce(config))
