"""Builds the site: the lectures with the outputs of a run, the labs as students get them, the glossary, and docs/.

build/book/source/    what Sphinx reads; folders lie as in the clone, so that one link works in both
build/book/html/      the site, which opens from a folder: index.html
"""

from __future__ import annotations

import base64
import importlib.util
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

from nbformat import NotebookNode
from PIL import Image

from autograde.labs.folder import find_labs
from autograde.labs.places import LABS
from autograde.lectures.notebooks import FOLDER, Lecture, read
from autograde.making.build import build, write_file
from course.notebook_file import as_bytes

SOURCE, HTML = Path("build") / "book" / "source", Path("build") / "book" / "html"
START = "course/lectures/index.html"
# MathJax in one file, without fonts; the wheel's folder has a name that cannot be imported.
MATHJAX = ("sphinx-mathjax-offline", "static/mathjax/tex-svg.js")
PNG = re.compile(r"(data:image/png;base64,)([\w+/=]+)")
SHOWN = ("*.ipynb", "*.md", "*.png")  # files of a lab
DOCS = Path("docs")
LINKED = re.compile(r"^!\[[^\]]*\]\(([^)\s]+)\)|^```\{include\} (\S+)", re.MULTILINE)  # pictures and texts in a page


class BookError(Exception):
    """Why the site was not built."""


def stage(root: Path, lectures: list[Lecture], ran: dict[str, NotebookNode]) -> Path:
    """Put together what Sphinx reads. ran: by name; other lectures stay as they were run before, or have no outputs."""
    source = root / SOURCE
    folder = source / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    names = {f"{lecture.name}.ipynb" for lecture in lectures}
    for left_over in folder.glob("*.ipynb"):
        if left_over.name not in names:
            left_over.unlink()
    for lecture in lectures:
        path = folder / f"{lecture.name}.ipynb"
        if lecture.name in ran or not path.exists():
            path.write_bytes(as_bytes(smaller(ran.get(lecture.name) or read(lecture))))
    for name in ("index.md", "conf.py"):
        shutil.copy(root / FOLDER / name, folder / name)
    stage_docs(root, source)
    static = folder / "static"
    shutil.copytree(root / FOLDER / "static", static, dirs_exist_ok=True)
    shutil.copy(mathjax(), static / "tex-svg.js")
    shutil.rmtree(source / LABS, ignore_errors=True)
    labs = find_labs(root)
    for lab in labs:  # not as they are in labs/, where somebody may have solved one
        for name, file in build(lab).student.items():
            if any(Path(name).match(pattern) for pattern in SHOWN):
                write_file(source / LABS / lab.name / name, file)
    for path in sorted(found for pattern in SHOWN for found in (root / LABS).rglob(pattern)):
        parts = path.relative_to(root / LABS).parts
        if (len(parts) == 1 or not labs) and not any(part.startswith(".") for part in parts):
            target = source / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    return source


def stage_docs(root: Path, source: Path) -> None:
    """Copy the pages for readers to `source`, with the pictures and texts that they show, in the same places."""
    shutil.rmtree(source / DOCS, ignore_errors=True)
    for page in sorted((root / DOCS).glob("*.md")):
        shown = [page.parent / (picture or text) for picture, text in LINKED.findall(page.read_text(encoding="utf-8"))]
        for path in [page, *shown]:
            target = source / path.resolve().relative_to(root.resolve())
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)


def smaller(notebook: NotebookNode) -> NotebookNode:
    """The notebook with pictures of 64 colours, which figures get by with: a third of the bytes."""
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        shown = output.get("data", {})
        if "text/html" in shown:
            shown["text/html"] = PNG.sub(lambda found: found[1] + fewer_colours(found[2]), shown["text/html"])
    return notebook


def fewer_colours(png: str) -> str:
    """A PNG with 64 colours, transparent ones among them. Both in base64."""
    image, stream = Image.open(io.BytesIO(base64.b64decode(png))), io.BytesIO()
    image.convert("RGBA").quantize(64, method=Image.Quantize.FASTOCTREE).save(stream, "PNG", optimize=True)
    return base64.b64encode(stream.getvalue()).decode()


def mathjax() -> Path:
    """MathJax's file in the installed packages. Raises BookError."""
    package, name = MATHJAX
    for folder in sys.path:
        if (path := Path(folder) / package / name).is_file():
            return path
    raise BookError(f"{package} is not installed: ./lockstep setup book")


def build_site(root: Path) -> Path:
    """Have Sphinx make the site of what was staged. Returns its first page. Raises BookError with Sphinx's words."""
    if importlib.util.find_spec("sphinx") is None:
        raise BookError("Sphinx is not installed: ./lockstep setup book")
    source, html = root / SOURCE, root / HTML
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-n", "-W", "--keep-going", "-q", "-j", "auto"]
    command += ["-d", source.parent / "doctrees", "-c", source / FOLDER, source, html]
    made = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    if made.returncode:
        raise BookError(f"Sphinx does not build the site:\n{made.stderr.strip()}")
    (html / "index.html").write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Lockstep</title>'
        f'<meta http-equiv="refresh" content="0; url={START}"><a href="{START}">The lectures</a></html>\n'
    )
    return html / "index.html"
