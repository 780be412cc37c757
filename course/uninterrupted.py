"""A stretch of work that Ctrl-C and the stop button of a notebook do not break off."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Inside, SIGINT does nothing; processes that are started there still obey it. Only for a second or two."""
    if threading.current_thread() is not threading.main_thread():  # other threads are never interrupted
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: None)  # SIG_IGN would be handed down
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
