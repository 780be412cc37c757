"""nbgrader's exchange as one student's server uses it: what is there, to fetch, to hand in, to get feedback.

As nbgrader's own Assignment List does it, except that no call changes the server's current folder, and that what goes
wrong is one sentence rather than a traceback.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import requests
from nbgrader.auth import Authenticator
from nbgrader.auth.jupyterhub import JupyterhubApiError, JupyterhubEnvironmentError
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError, ExchangeFactory
from traitlets.config import Config

from course.exchange.copying import write_synced
from course.exchange.handed_in.again import ConfirmationNeeded, Unchanged
from course.exchange.handed_in.content import Digests
from course.exchange.receipts import CORRECTED, reader, work_of
from course.exchange.submit import not_handed_in, too_large

QUIET = "lockstep.labs"  # nbgrader tells each thing that it lists, which a page says itself


class Unavailable(Exception):
    """Something cannot be shown or done now. The message says what, and what to do."""


class StudentExchange:
    """The exchange of `config`, whose labs are fetched to COURSE/LAB below `root`."""

    def __init__(self, config: Config, root: Path) -> None:
        self.config, self.root = config.copy(), root
        self.config.Exchange.assignment_dir = str(root)
        self._digests: dict[tuple[str, str], Digests] = {}
        self._log = logging.getLogger(QUIET)
        self._log.setLevel(logging.ERROR)

    @property
    def place(self) -> Path:
        """The exchange's folder."""
        return Path(ExchangeFactory(config=self.config).List(config=self.config).root)

    @property
    def student(self) -> str:
        """Who uses it."""
        return reader(CourseDirectory(config=self.config))

    def courses(self) -> list[str]:
        """The user's courses, by name. Raises Unavailable."""
        try:
            courses = Authenticator(config=self.config).get_student_courses(self.student)
            if courses is None:  # nobody says who is in which course
                courses = [path.name for path in self.place.iterdir() if path.is_dir()]
        except (JupyterhubApiError, JupyterhubEnvironmentError, requests.RequestException) as error:
            raise Unavailable(
                "The hub does not say now which courses you are in. Your files are safe. Open this page again in a "
                "minute; if it stays so, tell your instructor."
            ) from error
        except OSError as error:
            raise self._unreadable(self.place) from error
        return sorted(courses)

    def released(self, course: str, lab: str = "") -> list[dict[str, Any]]:
        """nbgrader's entries of the labs that are released in a course, or of one. Raises Unavailable."""
        outbound = self.place / course / "outbound"
        if not os.access(outbound, os.R_OK | os.X_OK):
            raise self._unreadable(outbound)
        return self._listed(course, lab, cached=False)

    def handed_in(self, course: str, lab: str = "") -> list[dict[str, Any]]:
        """nbgrader's entries of the labs that this student has handed in, or of one, with all submissions. Raises
        Unavailable."""
        return self._listed(course, lab, cached=True)

    def fetch(self, course: str, lab: str) -> None:
        """Fetch a lab, or those of its files that are missing; nothing is replaced. Raises Unavailable."""
        self._start("FetchAssignment", course, lab, "fetched", {"replace_missing_files": True})

    def hand_in(self, course: str, lab: str, confirmed: bool = False) -> None:
        """Hand a lab in. Raises Unavailable, Unchanged, and ConfirmationNeeded unless it is confirmed."""
        self._start("Submit", course, lab, "handed in", {"confirmed": confirmed})

    def fetch_feedback(self, course: str, lab: str) -> None:
        """Fetch the feedback on all that was handed in of a lab. Raises Unavailable."""
        self._start("FetchFeedback", course, lab, "fetched", {})

    def last_submission(self, course: str, lab: str) -> Path:
        """What was handed in last of a lab, in the exchange, where it need not be any more."""
        receipt = self.last_receipt(course, lab)
        return self.place / course / "inbound" / (work_of(receipt) if receipt else "nothing")

    def last_receipt(self, course: str, lab: str) -> Path | None:
        """The receipt of what was handed in last of a lab."""
        known = (each["submissions"] for each in self.handed_in(course, lab))
        return max((Path(one["path"]) for found in known for one in found), key=lambda path: path.name, default=None)

    def note_correction(self, course: str, lab: str) -> None:
        """Note that a lab's folder is as it was handed in, but for the corrected text that was just put into it."""
        if receipt := self.last_receipt(course, lab):
            with suppress(OSError):  # then it is taken for changed
                write_synced(receipt / CORRECTED, self.content(course, lab))

    def content(self, course: str, lab: str) -> str:
        """The digest of what would be handed in of a lab; empty if it cannot be read. A file is read again only once
        it has changed."""
        rules = CourseDirectory(config=self.config)
        digests = self._digests.setdefault((course, lab), Digests())
        try:
            return digests.of_folder(self.root / course / lab, not_handed_in(rules))
        except OSError:
            return ""

    def too_large(self, course: str, lab: str) -> str:
        """Why a lab that was fetched is too large to be handed in, and what to do; empty if it is not."""
        try:
            return too_large(self.root / course / lab, CourseDirectory(config=self.config))
        except OSError:  # which is told when it is handed in
            return ""

    def _listed(self, course: str, lab: str, cached: bool) -> list[dict[str, Any]]:
        try:
            return self._call("List", course, lab, cached=cached).start()
        except (ExchangeError, OSError) as error:
            raise self._unreadable(self.place) from error

    def _start(self, kind: str, course: str, lab: str, verb: str, traits: dict[str, Any]) -> None:
        try:
            self._call(kind, course, lab, **traits).start()
        except (ConfirmationNeeded, Unchanged):
            raise
        except ExchangeError as error:  # whose message is for the student
            raise Unavailable(f"{lab} is not {verb}: {error}") from error
        except Exception as error:  # of nbgrader's many kinds: a full disk, a file in the way, a hub that is silent
            logging.getLogger(__name__).exception("%s of %s in %s failed", kind, lab, course)
            reason = f"{error.strerror} ({error.filename})" if isinstance(error, OSError) and error.strerror else error
            raise Unavailable(
                f"{lab} is not {verb}: {reason}. Try again; if it stays so, tell your instructor."
            ) from error

    def _call(self, kind: str, course: str, lab: str, **traits: Any) -> Any:
        config = self.config.copy()
        config.CourseDirectory.course_id, config.CourseDirectory.assignment_id = course, lab
        known = {"coursedir": CourseDirectory(config=config), "authenticator": Authenticator(config=config)}
        return getattr(ExchangeFactory(config=config), kind)(**known, config=config, log=self._log, **traits)

    def _unreadable(self, place: Path) -> Unavailable:
        return Unavailable(
            f"The exchange at {place} cannot be read now, so your labs are not shown here. Your own files are safe. "
            "Tell your instructor."
        )
