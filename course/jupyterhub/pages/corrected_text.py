"""A student's next step with a lab that was corrected since: its new text, in JupyterLab's own terms."""

from __future__ import annotations

import logging
from pathlib import Path

from nbformat import NotebookNode
from nbformat.sign import NotebookNotary

from course.corrections.own_folder import Correction, CorrectionResult, correct
from course.jupyterhub.pages.lab_states import LabState
from course.jupyterhub.pages.student_exchange import StudentExchange, Unavailable
from course.overview.cells import NoNotebook


def correct_lab(exchange: StudentExchange, lab: LabState, notary: NotebookNotary) -> CorrectionResult:
    """Put a lab's corrected text into its student's folder, which is no change of what was handed in unless it changes
    an answer. Raises Unavailable."""
    result = get_corrected(lab.correction, exchange.root / lab.folder, notary)
    if lab.handed_in and not lab.changed and result.same_answers:
        exchange.note_correction(lab.course, lab.name)
    return result


def get_corrected(correction: Correction, folder: Path, notary: NotebookNotary) -> CorrectionResult:
    """Put a lab's corrected text into a student's folder. Outputs are trusted as they were. Raises Unavailable."""

    def sign(old: NotebookNode, new: NotebookNode) -> None:
        if notary.check_signature(old):
            notary.sign(new)

    try:
        return correct(correction, folder, sign)
    except (OSError, NoNotebook) as error:
        logging.getLogger(__name__).exception("the corrected text of %s failed", folder)
        reason = f"{error.strerror} ({error.filename})" if isinstance(error, OSError) and error.strerror else error
        raise Unavailable(
            f"You do not have the corrected text of {correction.new.lab} yet: {reason}. What you wrote is as it was. "
            "Try again; if it stays so, tell your instructor."
        ) from error
