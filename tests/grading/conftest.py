"""A class that is to be graded, and what its pages are made from, compiled once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from classroom import Classroom
from jinja2 import Environment, FileSystemBytecodeCache
from nbconvert.exporters import TemplateExporter
from small_course import LAB, make_course


@pytest.fixture(scope="session", autouse=True)
def compiled_templates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A grading compiles the templates of feedback, half a second of CPU time. Here all use Jinja's own cache."""
    cache, make = (
        FileSystemBytecodeCache(str(tmp_path_factory.mktemp("templates"))),
        TemplateExporter._create_environment,
    )

    def with_cache(exporter: TemplateExporter) -> Environment:
        environment = make(exporter)
        environment.bytecode_cache = cache
        return environment

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TemplateExporter, "_create_environment", with_cache)
        yield


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small course, built. It is copied, and not changed."""
    room = Classroom(make_course(tmp_path_factory.mktemp("built") / "course"), LAB)
    assert room.lockstep("build").exit_code == 0
    return room.root


@pytest.fixture
def small(built: Path, tmp_path: Path) -> Classroom:
    """A class on the small lab, built and not graded."""
    return Classroom(shutil.copytree(built, tmp_path / "course"), LAB)
