"""Translates small C programs that call MPI into Python that does the same with mpi4py.

It knows the C of programs which are written to try tools on: declarations, `if`, counting `for` loops, assignments and
calls. What a program prints, and what it frees, is left out. MPI_Send is MPI.Send; `course`'s watch sees what
`bench/c_mpi.py` makes of it, in the line of the translation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field


class NotTranslated(ValueError):
    """A program has something that is not known here."""


# By function, the argument that it fills in.
FILLED = {"MPI_Comm_size": 1, "MPI_Comm_rank": 1, "MPI_Comm_split": 3, "MPI_Comm_dup": 1, "MPI_Comm_create": 2}
FILLED |= {"MPI_Comm_group": 1, "MPI_Type_contiguous": 2, "MPI_Type_free": 0, "MPI_Comm_free": 0, "MPI_Group_excl": 3}
FILLED |= {"MPI_Group_free": 0, "MPI_Wait": 0, "MPI_Request_free": 0}
SILENT = {"printf", "free", "memset", "MPI_Init", "MPI_Finalize", "fflush", "srand", "MPI_Type_commit"}
TOKEN = re.compile(
    r'\s+|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|\d+|&&|\|\||[-+*/%=!<>]=|\+\+|--|.', re.DOTALL
)
TYPES = re.compile(r"(?:int|char|float|double|MPI_(?:Comm|Datatype|Op|Request|Status|Group|Aint))\b")
AS_PYTHON = {"&&": "and", "||": "or", "!": "not", "/": "//", "NULL": "None"}


@dataclass
class Translation:
    """text: of a function ``program(comm, argument)``. lines: for each of its lines, from 1, that of the C program.
    marked: lines of the C program that its author has marked as guilty."""

    text: str
    lines: dict[int, int]
    marked: set[int]


@dataclass
class Translator:
    """Reads the tokens of a program, each with its line, and writes the translation."""

    tokens: list[tuple[str, int]]
    at: int = 0
    out: list[tuple[str, int]] = field(default_factory=list)
    arrays: set[str] = field(default_factory=set)

    @property
    def now(self) -> str:
        """The token to be read next; empty at the end."""
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    @property
    def line(self) -> int:
        """Its line."""
        return self.tokens[min(self.at, len(self.tokens) - 1)][1]

    def take(self, expected: str | None = None) -> str:
        """Read a token. Raises NotTranslated if it is not the one that is expected."""
        token = self.now
        if expected not in (None, token):
            raise NotTranslated(f"line {self.line}: {token!r} where {expected!r} is known")
        self.at += 1
        return token

    def until(self, *ends: str) -> list[str]:
        """Read tokens up to one of `ends` outside of all brackets, which is not read."""
        found, depth = [], 0
        while depth or self.now not in ends:
            if not self.now:
                raise NotTranslated("the program ends within a statement")
            depth += (self.now in "([{") - (self.now in ")]}")
            found.append(self.take())
        return found

    def write(self, text: str, line: int, depth: int) -> None:
        """Write a line of the translation."""
        self.out.append(("    " * depth + text, line))

    def block(self, depth: int) -> None:
        """Translate a statement, or several in braces."""
        before = len(self.out)
        line = self.line
        if self.now == "{":
            self.take()
            while self.now != "}":
                self.statement(depth)
            self.take()
        else:
            self.statement(depth)
        if len(self.out) == before:
            self.write("pass", line, depth)

    def statement(self, depth: int) -> None:
        """Translate a statement."""
        line, word = self.line, self.now
        if word == ";":
            self.take()
        elif word == "{":
            self.block(depth)
        elif word == "if":
            self.take()
            self.take("(")
            self.write(f"if {self.python(self.until(')'))}:", line, depth)
            self.take(")")
            self.block(depth + 1)
            if self.now == "else":
                self.write("else:", self.line, depth)
                self.take()
                self.block(depth + 1)
        elif word == "for":
            self.counting(depth)
        elif word == "return":
            self.until(";")
            self.take()
            self.write("return", line, depth)
        elif TYPES.fullmatch(word):
            self.declarations(depth)
        else:
            for part in split(self.until(";"), ","):
                self.expression(part, line, depth)
            self.take(";")

    def counting(self, depth: int) -> None:
        """Translate ``for (int i = 0; i < n; i++)``."""
        line = self.line
        self.take("for")
        self.take("(")
        begin, condition, step = "".join(self.until(";")), None, None
        self.take(";")
        condition = self.until(";")
        self.take(";")
        step = "".join(self.until(")"))
        self.take(")")
        match = re.fullmatch(r"(?:int)?(\w+)=(\w+)", begin)
        if not match or condition[:2] != [match[1], "<"] or step not in (f"{match[1]}++", f"++{match[1]}"):
            raise NotTranslated(f"line {line}: a loop that does not count")
        self.write(f"for {match[1]} in range({match[2]}, {self.python(condition[2:])}):", line, depth)
        self.block(depth + 1)

    def declarations(self, depth: int) -> None:
        """Translate ``int a = 1, *b = malloc(n), c[4];``."""
        line, kind = self.line, self.take()
        while True:
            pointer = False
            while self.now == "*":
                pointer = bool(self.take())
            name, size, value = self.take(), None, None
            while self.now == "[":
                self.take()
                size = self.python(self.until("]"))
                self.take("]")
            if self.now == "=":
                self.take()
                value = self.until(",", ";")
            if pointer or size is not None:
                self.arrays.add(name)
            if size is not None:
                self.write(f"{name} = memory(4 * ({size}))", line, depth)
            elif value is not None:
                self.write(f"{name} = {self.python(value)}", line, depth)
            else:
                self.write(f"{name} = {0 if kind in ('int', 'float', 'double', 'char') else None}", line, depth)
            if self.take() == ";":
                return

    def expression(self, tokens: list[str], line: int, depth: int) -> None:
        """Translate an assignment or a call. A comma between two is read by the caller."""
        name = tokens[0] if tokens else ""
        if name in SILENT or not tokens:
            return
        if len(tokens) > 1 and tokens[1] == "(":
            self.call(name, split(tokens[2:-1], ","), line, depth)
        elif "=" in tokens:
            place = tokens.index("=")
            self.write(f"{self.python(tokens[:place])} = {self.python(tokens[place + 1 :])}", line, depth)
        elif tokens[-1] in ("++", "--"):
            self.write(f"{self.python(tokens[:-1])} {tokens[-1][0]}= 1", line, depth)
        else:
            raise NotTranslated(f"line {line}: {' '.join(tokens)}")

    def call(self, name: str, arguments: list[list[str]], line: int, depth: int) -> None:
        """Translate a call. What it fills in is assigned: a request of one that goes on, what FILLED says."""
        if not name.startswith("MPI_"):
            raise NotTranslated(f"line {line}: a call of {name}")
        goes_on = re.match(r"MPI_(I(?!probe)|\w+_init$)", name)
        place = FILLED.get(name, len(arguments) - 1 if goes_on else -1)
        target = self.python(arguments[place][1:]) + " = " if place >= 0 else ""
        known = [each for number, each in enumerate(arguments) if number != place or name in CHANGED]
        method = name.replace("MPI_", "MPI.", 1)
        self.write(f"{target}{method}({', '.join(map(self.python, known))})", line, depth)

    def python(self, tokens: list[str]) -> str:
        """An expression."""
        if "?" in tokens:
            at, colon = tokens.index("?"), tokens.index(":")
            yes, no = tokens[at + 1 : colon], tokens[colon + 1 :]
            return f"({self.python(yes)} if {self.python(tokens[:at])} else {self.python(no)})"
        text = " ".join(tokens)
        text = re.sub(r"sizeof \( \w+ \)", "4", text)
        text = re.sub(r"\( (?:int|char|float|double) (?:\* )*\)", "", text)  # what something is taken for
        text = re.sub(r"atoi \( argv \[ 1 \] \)", "argument", text)
        text = re.sub(r"^& (\w+)$", lambda found: self.address(found[1]), text)
        text = re.sub(r"\bmalloc\b", "memory", text)
        return " ".join(AS_PYTHON.get(token, token) for token in text.split())

    def address(self, name: str) -> str:
        """What stands for the address of a variable: an array itself, or one for a single number."""
        return name if name in self.arrays or name.startswith(("req", "sta", "newcom", "type")) else "memory(4096)"


CHANGED = {"MPI_Wait", "MPI_Type_free", "MPI_Comm_free", "MPI_Request_free", "MPI_Group_free"}


def split(tokens: list[str], by: str) -> list[list[str]]:
    """Parts of an expression that a token outside of all brackets separates."""
    parts, depth = [[]], 0
    for token in tokens:
        depth += (token in "([{") - (token in ")]}")
        if token == by and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def translated(source: str) -> Translation:
    """The translation of a program. Raises NotTranslated if it has something that is not known here."""
    marked = {number for number, line in enumerate(source.splitlines(), 1) if "MBIERROR" in line}
    head, begin, body = source.partition("int main(")
    if not begin:
        raise NotTranslated("it has no main")
    defined = dict(re.findall(r"^#define (\w+) (\d+)$", head, re.MULTILINE))
    line = head.count("\n") + 1
    tokens = []
    for match in TOKEN.finditer(begin + body):
        word = match[0]
        if not word.isspace() and not word.startswith(("//", "/*")):
            tokens.append((defined.get(word, word), line))
        line += word.count("\n")
    translator = Translator(tokens)
    translator.at = next(number for number, (token, _) in enumerate(tokens) if token == "{")
    translator.write("def program(MPI_COMM_WORLD, argument):", translator.line, 0)
    translator.block(1)
    text = "\n".join(each for each, _ in translator.out)
    try:
        compile(text, "a translation", "exec")
    except SyntaxError as error:
        raise NotTranslated(f"line {translator.out[error.lineno - 1][1]}: {error.text}") from None
    return Translation(text, {number: line for number, (_, line) in enumerate(translator.out, 1)}, marked)
