"""`--failures FILE`: what failed, and what it said, as JSON, for tests/run.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def add_option(parser: pytest.Parser) -> None:
    """The option."""
    parser.addoption("--failures", metavar="FILE", type=Path, help="write what failed, and what it said, here as JSON")


def register(config: pytest.Config) -> None:
    """Keep what fails, if that was asked for; xdist's workers tell it to the process that started them."""
    if (path := config.getoption("failures")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures(path))


class Failures:
    """What failed, by the test's name, with what it said first."""

    def __init__(self, path: Path) -> None:
        self.path, self.said = path, {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Hear of one test's set-up, call or end."""
        if report.failed:
            self.said.setdefault(report.nodeid, str(report.longrepr))

    def pytest_sessionfinish(self) -> None:
        """Write it down."""
        self.path.write_text(json.dumps(self.said))
