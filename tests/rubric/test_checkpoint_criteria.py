"""Criteria on checkpoints: which files are refused, and whose files stay."""

from types import SimpleNamespace as Seen

import pytest

from autograde.probes.checkpoint_calls import Loaded
from autograde.rubric import REFUSED, REFUSED_WRONGLY, Call, Criterion, first_of, folder_clean, misfit

MISFIT = Criterion("misfit", 1, "", first_of(REFUSED, misfit), REFUSED_WRONGLY)


def loading(kind: str, *errors: str | None) -> Call:
    """A call for a file of this kind, with an error on each rank, or none."""
    return Call({}, 0, {"kind": kind}, [Loaded(0, error, {}, {}) for error in errors])


@pytest.mark.parametrize(
    ("calls", "due"),
    [
        ([loading("half", "0.pt is broken", "0.pt is broken")], None),
        ([loading("half", "broken", "0.pt is broken")], "error-names-no-file"),
        ([loading("renamed", None, "0.pt does not fit")], "some-ranks-refuse"),
        ([loading("renamed", None, None)], "broken-file-ignored"),
        ([loading("renamed", None, None), loading("half", "0.pt", "0.pt")], "strict-false"),
        ([loading("without-epoch", None, None), loading("half", "0.pt", "0.pt")], "missing-entry-ignored"),
    ],
)
def test_a_file_that_does_not_fit_is_an_error_that_names_it(calls, due):
    wrong = MISFIT.wrong(calls)
    assert (wrong and wrong.key) == due


def test_files_of_somebody_elses_have_to_stay():
    call = Call({}, 0, {}, [Seen(calls=[Seen(gone=["other.pt"])]), Seen(calls=[Seen(gone=[])])])
    assert folder_clean(call).key == "others-removed"
