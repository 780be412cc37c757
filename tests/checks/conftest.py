"""Verdicts compute as they do in a grading: with one thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograde.contract.check import one_thread


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """One thread of torch's, as `judge` has."""
    with one_thread():
        yield
