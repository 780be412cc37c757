"""Has nbgrader use one SQLAlchemy engine for a gradebook, however often it opens that.

Each of nbgrader's steps opens the gradebook anew, some fifteen times for a student. A new engine has compiled no
statement yet, and to compile takes several times as long as to execute. An engine that is used again keeps what it
has compiled; it holds no connection, as `Gradebook.close` disposes of them.
"""

from __future__ import annotations

from functools import lru_cache

from nbgrader import api
from sqlalchemy import create_engine

GRADEBOOKS = 8  # whose engines are kept: a process rarely works on more than one


def keep_engines() -> None:
    """From now on, in this process, nbgrader's `Gradebook` asks for an engine that may be there already."""
    if api.create_engine is create_engine:
        api.create_engine = lru_cache(GRADEBOOKS)(create_engine)
