"""The tables of labs in the clone's pages, which `lockstep build` makes from the labs' `lab.toml`.

README.md          the labs of the kit: those that say what one does in them
docs/grader.md     mistakes that usual checks let pass

They have all labs of the clone's solutions/, whichever a course chooses. A page has each table between two marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from autograde.labs.description import FILE, LetPass, read_description
from autograde.labs.folder import Lab, LabError, load_ranks, load_variants
from autograde.rubric.index import with_lines
from course.lab_choice import all_labs

BEGIN, END = "<!-- made by `./lockstep build` from the labs' lab.toml -->", "<!-- end of the table -->"


def labs_of_the_kit(root: Path) -> list[Lab]:
    """The labs in the `solutions/` of the course at `root`, in order of name."""
    return [Lab(name, folder) for name, folder in all_labs(root).items()]


def what_one_does(labs: Iterable[Lab]) -> list[str]:
    """A row for each lab that says what one does in it. Raises LabError."""
    rows = ["| lab | what you do | ranks |", "|---|---|---|"]
    for lab in labs:
        description = read_description(lab.folder)
        if description and description.does:
            rows.append(f"| `{lab.name}` | {description.does} | {load_ranks(lab.checks)} |")
    return rows


def let_pass(labs: Iterable[Lab]) -> list[str]:
    """A row for each mistake that a usual check lets pass. Raises LabError."""
    rows = ["| mistake | a usual check, which it passes | what Lockstep finds |", "|---|---|---|"]
    for lab in labs:
        for each in mistakes_let_pass(lab):
            found = f"`{finding(lab, each)}` in `{each.todo}` of lab {lab.name[:2]}"
            rows.append(f"| {each.mistake} | {each.usual_check} | {found} |")
    return rows


def mistakes_let_pass(lab: Lab) -> tuple[LetPass, ...]:
    """The mistakes of a lab that usual checks let pass. Raises LabError."""
    description = read_description(lab.folder)
    return description.let_pass if description else ()


def finding(lab: Lab, mistake: LetPass) -> str:
    """The key of the finding that the lab's check must have for a mistake. Raises LabError."""
    wrong = load_variants(lab.variants)[1]
    for key, name, known in (
        ("todo", mistake.todo, wrong),
        ("variant", mistake.variant, wrong.get(mistake.todo, {})),
    ):
        if name not in known:
            raise LabError(
                f"{lab.folder / FILE}: `let_pass.{key}` is {name}, which no module of variants/ has; there are "
                f"{', '.join(known)}"
            )
    return wrong[mistake.todo][mistake.variant].finding


TABLES: dict[str, Callable[[Iterable[Lab]], list[str]]] = {"README.md": what_one_does, "docs/grader.md": let_pass}


def pages(root: Path) -> dict[Path, str]:
    """The pages below `root` that have a table, as they should be. A course apart from the clone has none.

    Raises LabError.
    """
    made = {}
    for name, table in TABLES.items():
        path = root / name
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if BEGIN in text:
            made[path] = with_lines(text, BEGIN, END, table(labs_of_the_kit(root)))
    return made


def write_pages(root: Path) -> None:
    """Write the tables in the pages below `root`. Raises LabError."""
    for path, text in pages(root).items():
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def stale_pages(root: Path) -> list[str]:
    """One line for each page below `root` whose table is not what `lab.toml` says. Raises LabError."""
    return [
        f"{path.relative_to(root)}: its table is not what the labs' {FILE} say; run `lockstep build`"
        for path, text in pages(root).items()
        if path.read_text(encoding="utf-8") != text
    ]
