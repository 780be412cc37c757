"""What a program may do, an answer may do in its cell, in every lab, and keeps all points."""

from __future__ import annotations

import pytest
from case_by_case import checked, checks_of
from labs_under_test import LABS
from seeds import SEED

from autograde.contract import check as contract
from autograde.contract import show
from autograde.labs.folder import Lab, solution_cells

# Below an answer `{todo}`: it looks up, sends, keeps and copies what its own cell defines, when it runs and when it is
# first called.
AS_A_PROGRAM = """

import copy as _copy, dataclasses as _dataclasses, enum as _enum, functools as _functools, inspect as _inspect
import io as _io, multiprocessing as _multiprocessing, pickle as _pickle, sys as _sys, typing as _typing


@_dataclasses.dataclass
class _Part:
    rank: int
    after: "_typing.Optional[_Part]" = None


class _Place(_typing.NamedTuple):
    rank: int


class _Kind(_enum.Enum):
    ONE = 1


def _twice(x):
    return 2 * x


def _as_a_program():
    import torch

    def nested():
        return _Part(1, _Part(2))

    objects = [nested(), _Place(3), _Kind.ONE, _twice, _functools.partial(_twice, 3).func, {todo}]
    assert _pickle.loads(_pickle.dumps(objects)) == objects == _copy.deepcopy(objects)
    file = _io.BytesIO()
    torch.serialization.save({{"part": nested()}}, file)  # by its other name: probes count what torch.save writes
    assert torch.load(_io.BytesIO(file.getvalue()), weights_only=False) == {{"part": nested()}}
    assert _typing.get_type_hints(_Part)["after"] == _typing.Optional[_Part]
    assert _inspect.getmodule(_twice) is _sys.modules[__name__]
    assert "return 2 * x" in _inspect.getsource(_twice) and "rank: int" in _inspect.getsource(_Place)
    assert torch.jit.script(_twice)(torch.ones(1)).item() == 2
    with _multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map(_twice, [1]) == [2] and pool.map(_Part, [1]) == [_Part(1)]


_as_a_program()
if __name__ == "__main__" and _inspect.isfunction({todo}):
    _answer = {todo}

    @_functools.wraps(_answer)
    def {todo}(*args, **named):
        if not hasattr(_as_a_program, "done"):
            _as_a_program.done = True
            _as_a_program()
        return _answer(*args, **named)
"""
TODOS = [pytest.param(lab, todo, id=f"{lab.name}-{todo}") for lab in LABS for todo in checks_of(lab)]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("lab", "todo"), TODOS)
def test_an_answer_may_do_what_a_program_may(worlds, lab: Lab, todo: str):
    check = checks_of(lab)[todo]
    source = solution_cells(lab.source)[todo] + AS_A_PROGRAM.format(todo=todo)
    result = checked(worlds.of(lab), check, source, contract.draw_cases(check, SEED)[:2])
    assert result.findings == [], f"seed {SEED}\n{show.text(result)}"
