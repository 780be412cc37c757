"""`nbgrader release_assignment`, and the formgrader's button: what students get is made from the lab's source.

So nothing of what somebody does in `labs/` leaves it: an instructor who tries a lab there solves it.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from autograde.classroom.release.old_text import about_old_text, as_released
from autograde.labs.folder import LabError, find_lab, find_labs, labs_left_out
from autograde.labs.places import LABS
from autograde.making.archive import ignored
from autograde.making.build import Built, build, worked_in, write_file
from course.corrections.releases import keep, kept
from course.exchange.deadlines import PrivateRelease


class ReleaseFromSource(PrivateRelease):
    """Releases what `lockstep build` makes of a lab now. Of an assignment without such a source, what is in `labs/`,
    unless there is work in it."""

    def start(self) -> None:
        """Release the assignment."""
        with TemporaryDirectory(prefix="lockstep-release-") as folder:
            self._folder = Path(folder)
            super().start()

    def init_src(self) -> None:
        """Make what is to be released. Fails with one line where the lab cannot be built."""
        root, name = Path(self.coursedir.root), self.coursedir.assignment_id
        try:
            if name not in {lab.name for lab in [*find_labs(root), *labs_left_out(root)]}:
                super().init_src()
                self.refuse_work(Path(self.src_path))
                return
            built = build(find_lab(root, name))
        except LabError as error:
            self.fail(str(error))
        for path, file in as_released(built).items():
            write_file(self._folder / name / path, file)
        self.src_path = str(self._folder / name)
        self.say_what_stays(root / LABS / name, built)

    def copy_files(self) -> None:
        """Release, keep the text for students who fetch it now, and say who has an older one."""
        course, name = self.coursedir.course_id, self.coursedir.assignment_id
        if Path(self.dest_path).is_dir() and not self.force:
            self.fail(
                f"{name} is released already. To release it again: `./lockstep release {name}`, *Release again* on its "
                "card on a hub, or nbgrader's --force"
            )
        super().copy_files()
        again = bool(kept(self.root, course, name))
        try:
            corrected = keep(self.root, course, name)
        except OSError as error:
            self.log.warning("%s: released, but students are not told that it was corrected: %s", name, error)
            return
        for line in about_old_text(self.root, course, name, corrected) if again else ():
            self.log.warning("%s", line)

    def refuse_work(self, folder: Path) -> None:
        """Fail if somebody has worked in a notebook of an assignment that is released as it lies in `labs/`."""
        for path in sorted(folder.rglob("*.ipynb")):
            if not ignored(path.relative_to(folder)) and (cells := worked_in(path)):
                self.fail(
                    f"{path} has work in cell {', '.join(cells)}, which students would get; move it elsewhere, and run "
                    "`nbgrader generate_assignment` again"
                )

    def say_what_stays(self, folder: Path, built: Built) -> None:
        """Warn of what is in the lab's folder of `labs/`, and is not released."""
        notebook = folder / built.lab.notebook
        if notebook.exists() and (cells := worked_in(notebook)):
            self.log.warning(
                "%s has work in cell %s: it stays there; what `lockstep build` makes is released",
                notebook,
                ", ".join(cells),
            )
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if path.is_file() and not ignored(name) and name.as_posix() not in built.student:
                self.log.warning(
                    "%s is not released, as `lockstep build` does not make it; what students are to get goes into %s",
                    path,
                    built.lab.folder,
                )
