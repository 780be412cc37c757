"""Counts what the labs' checks are made of, and prints it beside the same of another revision.

    python bench/check_sizes.py [--root .] [--against REVISION]

No lab is imported; all of it is read as text, and as a syntax tree. What is counted:

- A check is a module of a lab's `checks/` that sets CHECK or CHECKS. Its own code is the lines of this module, and of
  that of the same name in `probes/`, without blank lines, comments, docstrings, imports, and lines with nothing but
  text: a string with a space in it. What several TODOs share is in no check's own code; it is in the lines of the lab.
- A key is chosen by a chain of ifs if a function of a lab calls words with it, as `words("wrong-value", ...)`; `words`
  is a `Words`, made there or imported. It is in a table of mistakes if a text with its words is not that of a `Words`.
  A key counts once in each module.
- A `gives` is written by hand where a lab defines a method of this name, or sets it. An attribute is set on a function
  where one is assigned to a name that a `def` of the module made, or one of `gives`, `of_record` and `compared` to any.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import tarfile
import tempfile
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

LIBRARY = ("cells", "contract", "labs", "fixtures", "probes", "rubric")
PARTS = ("checks", "probes", "shared")  # folders of a lab
MOST = 160  # lines of own code that a TODO should not exceed
KEY = re.compile(r"(?:\A|\n[ \t]*\n)\s*([a-z][a-z0-9-]*): ")  # at the beginning of a paragraph
PROTOCOLS = {"gives", "of_record", "compared"}  # attributes by which judges are asked
WORDS, OPENER = "Words", "words"  # the class of words that code chooses from, and what one is called
NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Module:
    """One module: where it is, its text, and its syntax tree."""

    path: Path
    text: str
    tree: ast.Module

    @classmethod
    def read(cls, path: Path) -> Module:
        """Read a file. Raises SyntaxError."""
        text = path.read_text(encoding="utf-8")
        return cls(path, text, ast.parse(text, str(path)))

    @property
    def is_check(self) -> bool:
        """Whether it sets CHECK or CHECKS."""
        set_here = [each for node in self.tree.body if isinstance(node, ast.Assign) for each in node.targets]
        return any(isinstance(each, ast.Name) and each.id in ("CHECK", "CHECKS") for each in set_here)

    @property
    def own_lines(self) -> int:
        """How many lines of code it has, see above."""
        code, left_out = set(), set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in NOT_CODE:
                code |= {*range(token.start[0], token.end[0] + 1)}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import | ast.ImportFrom) or is_docstring(node):
                left_out |= {*range(node.lineno, node.end_lineno + 1)}
        return len(code - left_out - self.lines_of_text())

    def lines_of_text(self) -> set[int]:
        """Numbers of the lines with nothing but text on them, and punctuation."""
        lines = [line.encode() for line in self.text.split("\n")]
        found = set()
        for node in texts(self.tree):
            if " " in text_of(node):
                for number in range(node.lineno, node.end_lineno + 1):
                    line = lines[number - 1]
                    before = line[: node.col_offset] if number == node.lineno else b""
                    after = line[node.end_col_offset :] if number == node.end_lineno else b""
                    if not re.search(rb"\w", before + after):
                        found.add(number)
        return found

    @property
    def imported(self) -> set[tuple[str, str]]:
        """Modules of the library and the names that are imported from them."""
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom) and not node.level]
        return {(node.module, each.name) for node in nodes if in_library(node.module) for each in node.names}

    @property
    def functions(self) -> list[ast.FunctionDef]:
        """All functions and methods."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)]

    @property
    def set_attributes(self) -> list[str]:
        """Names of attributes that are set on functions."""
        made = {function.name for function in self.functions}
        targets = [each for node in ast.walk(self.tree) if isinstance(node, ast.Assign) for each in node.targets]
        named = [each for each in targets if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name)]
        on = [each for each in named if each.value.id in made or each.attr in PROTOCOLS]
        return [each.attr for each in on if each.value.id not in ("self", "cls")]

    @property
    def gives(self) -> int:
        """How often `gives` is written by hand."""
        methods = [each for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef) for each in node.body]
        return sum(getattr(each, "name", "") == "gives" for each in methods) + self.set_attributes.count("gives")

    @property
    def chosen_keys(self) -> set[str]:
        """Keys that functions choose."""
        imports = [node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom)]
        names = {each.asname or each.name for node in imports for each in node.names if each.name == OPENER}
        names |= {each.id for node in self.tree.body if is_table(node) for each in node.targets}
        calls = [node for each in self.functions for node in ast.walk(each) if isinstance(node, ast.Call) and node.args]
        firsts = [call.args[0] for call in calls if getattr(call.func, "id", "") in names]
        values = [node.value for first in firsts for node in ast.walk(first) if isinstance(node, ast.Constant)]
        return {value for value in values if isinstance(value, str) and re.fullmatch(r"[a-z][a-z0-9-]*", value)}

    @property
    def keys_of_mistakes(self) -> set[str]:
        """Keys in tables of mistakes."""
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        inside = [each for call in calls if getattr(call.func, "id", "") == WORDS for each in ast.walk(call)]
        words = {id(node) for node in inside}
        docstrings = {id(node.value) for node in ast.walk(self.tree) if is_docstring(node)}
        told = [text_of(node) for node in texts(self.tree) if id(node) not in words | docstrings]
        return {key for text in told for key in KEY.findall(text) if "\n" in text or "-" in key}


def texts(tree: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """All strings; an f-string as one."""
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        if is_text and id(node) not in inside:
            yield node


def text_of(node: ast.Constant | ast.JoinedStr) -> str:
    """What a string says, with `{}` for what is put in."""
    if isinstance(node, ast.Constant):
        return node.value
    return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)


def is_docstring(node: ast.AST) -> bool:
    """Whether it is a text that stands by itself."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_table(node: ast.AST) -> bool:
    """Whether it makes words to choose from."""
    call = node.value if isinstance(node, ast.Assign) else None
    return isinstance(call, ast.Call) and getattr(call.func, "id", "") == WORDS


def in_library(name: str) -> bool:
    """Whether a module is of the library of checks."""
    return name.startswith("autograde.") or name == "autograde"


def modules(folder: Path) -> list[Module]:
    """All modules below a folder."""
    return [Module.read(path) for path in sorted(folder.rglob("*.py"))]


def lines(found: list[Module]) -> int:
    """Lines of all of them."""
    return sum(len(each.text.splitlines()) for each in found)


@dataclass(frozen=True)
class Tree:
    """What is counted of one checkout. labs: modules by lab. library: modules of the library."""

    labs: Mapping[str, list[Module]]
    library: list[Module]

    @classmethod
    def read(cls, root: Path) -> Tree:
        """Read the labs and the library of the checkout at `root`."""
        folders = sorted(path.parent for path in (root / "solutions").glob("*/lab.py"))
        labs = {each.name: [one for part in PARTS for one in modules(each / part)] for each in folders}
        return cls(labs, [each for name in LIBRARY for each in modules(root / "autograde" / name)])

    @property
    def checks(self) -> list[Module]:
        """Those of all labs, one for each TODO, or for several that are checked in one module."""
        return [each for found in self.labs.values() for each in found if each.is_check]

    def own_code(self) -> dict[str, int]:
        """By lab and TODO, the lines of own code."""
        beside = {each.path: each.own_lines for found in self.labs.values() for each in found}
        counted = {}
        for check in self.checks:
            lab = check.path.parents[1]
            probe = lab / "probes" / check.path.name
            counted[f"{lab.name} {check.path.stem}"] = beside[check.path] + beside.get(probe, 0)
        return counted

    def measures(self) -> dict[str, float]:
        """What is counted, by what it is."""
        own, imported = [*self.own_code().values()], [each.imported for each in self.checks]
        in_labs = [each for found in self.labs.values() for each in found]
        return {
            "own code of a TODO, with its probe: median": median(own) if own else 0,
            f"TODOs with more than {MOST} lines of own code": sum(each > MOST for each in own),
            "names that a check imports from the library: median": median(map(len, imported)) if own else 0,
            "modules that they come from: median": median(len({*dict(each)}) for each in imported) if own else 0,
            "`gives` written by hand": sum(each.gives for each in in_labs),
            "attributes set on functions": sum(len(each.set_attributes) for each in in_labs),
            "keys chosen by chains of ifs": sum(len(each.chosen_keys) for each in in_labs),
            "keys in tables of mistakes": sum(len(each.keys_of_mistakes) for each in in_labs),
        }

    def sizes(self) -> dict[str, float]:
        """Lines of all labs and of the library, and what is set on functions in this."""
        by_lab = {name: lines(found) for name, found in self.labs.items()}
        return {
            **by_lab,
            "all labs": sum(by_lab.values()),
            f"autograde/{{{','.join(LIBRARY)}}}": lines(self.library),
            "attributes set on functions there": sum(len(each.set_attributes) for each in self.library),
        }


def of_revision(root: Path, revision: str) -> Tree:
    """The same of a revision that git knows. Raises CalledProcessError."""
    command = ["git", "-C", str(root), "archive", revision, "solutions", "autograde"]
    packed = subprocess.run(command, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
        return Tree.read(Path(folder))


def table(title: str, columns: Mapping[str, Mapping[str, float]]) -> str:
    """Measures as lines, with a column for each tree; a dash stands for what a tree does not have."""
    names = dict.fromkeys(name for column in columns.values() for name in column)
    width = max(map(len, (title, *names)))
    rows = [(title, [*columns])]
    rows += [(name, [f"{each[name]:g}" if name in each else "-" for each in columns.values()]) for name in names]
    return "\n".join(" ".join([f"{name:<{width}}", *(f"{cell:>9}" for cell in cells)]) for name, cells in rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="What the labs' checks are made of.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1], help="the checkout")
    parser.add_argument("--against", metavar="REVISION", help="print the same of this revision, too")
    options = parser.parse_args()
    trees = {options.against: of_revision(options.root, options.against)} if options.against else {}
    trees["now"] = Tree.read(options.root)
    tables = {
        "Checks of all labs": Tree.measures,
        "Lines of checks, probes and shared": Tree.sizes,
        "Lines of own code of a TODO, with its probe": Tree.own_code,
        f"Of these, more than {MOST}": lambda tree: {k: v for k, v in tree.own_code().items() if v > MOST},
    }
    print("\n\n".join(table(title, {name: of(each) for name, each in trees.items()}) for title, of in tables.items()))


if __name__ == "__main__":
    main()
