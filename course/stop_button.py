"""The stop button of a notebook, or Ctrl-C, while ranks run: a press is noted, and what goes on is ended in order."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

ECHO = 2.0  # seconds after a stop in which a further press belongs to it


class StopButton:
    """In its context, SIGINT sets `pressed` and raises nothing; who is in there looks at it, and comes to an end.

    Whoever presses in haste presses twice and more: for ECHO seconds after the context, presses still belong to that
    stop, so that they do not break off what is told of it. A press that nobody in there looked at any more is a
    KeyboardInterrupt at the end. Processes that are started in there obey SIGINT. Only the main thread ever gets it; in
    other threads, and where SIGINT is ignored, this does nothing.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._before: Any = None  # the handler that this one takes the place of, if it does
        self._until = 0.0

    def __enter__(self) -> StopButton:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and callable(signal.getsignal(signal.SIGINT)):
            self._before = signal.signal(signal.SIGINT, self._press)  # SIG_IGN would be handed down
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._before is None:
            return
        self._until = time.monotonic() + ECHO
        signal.signal(signal.SIGINT, self._press_again if self.pressed else self._before)
        if self.pressed and kind is None:
            raise KeyboardInterrupt

    def _press(self, *_: object) -> None:
        self.pressed = True

    def _press_again(self, number: int, frame: Any) -> None:
        if time.monotonic() > self._until:
            signal.signal(signal.SIGINT, self._before)
            self._before(number, frame)
