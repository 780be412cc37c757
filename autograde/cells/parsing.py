"""Source texts as trees, from any thread."""

from __future__ import annotations

import ast
import threading

# CPython 3.11 and 3.12 count how deep `ast.parse` is in one place for all threads: two at once can end in "SystemError:
# AST constructor recursion depth mismatch" (python/cpython#106905).
ONE_AT_A_TIME = threading.RLock()


def parse(source: str) -> ast.Module:
    """Like `ast.parse`, with what it raises."""
    with ONE_AT_A_TIME:
        return ast.parse(source)
