"""Probes that call a student's function: where its cell is run, and how often."""

from __future__ import annotations

from pathlib import Path

from lab_packages import write_package
from mpi4py import MPI

from autograde.contract.call_probe import make_calls
from autograde.contract.labs import lab_package
from autograde.contract.subject import Subject

PROBES = """# == __init__.py
# == twice.py
import os
from unittest import mock

from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence


class Seen(Evidence):
    values: list[str]
    surroundings: dict[str, str]


def names(rank, case):
    return {"number": lambda number=rank.number: number}


def around(rank, call):
    return mock.patch.dict(os.environ, PLACE=call["place"])


def call(function, rank, call):
    return Seen(function(), {"PLACE": (rank.surroundings or {}).get("PLACE", "none")})


PROBE = CallProbe(Seen, call, names, around=AROUND)
"""
CELL = """
import os
at_load, calls = os.environ.get("PLACE", "none"), []
def twice():
    calls.append(1)
    return [at_load, os.environ.get("PLACE", "none"), str(number()), str(len(calls))]
"""


def called(folder: Path, around: str) -> list[dict]:
    """What two calls show, at the places A and B."""
    write_package(folder / "probes", PROBES.replace("AROUND", around))
    case = {"calls": [{"place": "A"}, {"place": "B"}]}
    found = make_calls(lab_package(folder), Subject("twice", CELL), case, "", MPI.COMM_SELF)
    return [each["seen"] for each in found["calls"]]


def test_a_cell_is_run_once_for_all_calls_of_a_case(tmp_path):
    one, other = called(tmp_path, "None")
    assert one == {"values": ["none", "none", "0", "1"], "surroundings": {"PLACE": "none"}}
    assert other["values"] == ["none", "none", "0", "2"]


def test_where_calls_have_surroundings_the_cell_is_run_in_them_for_each_call(tmp_path):
    one, other = called(tmp_path, "around")
    assert one == {"values": ["A", "A", "0", "1"], "surroundings": {"PLACE": "A"}}
    assert other == {"values": ["B", "B", "1", "1"], "surroundings": {"PLACE": "B"}}
