"""The notebook's stop button, or Ctrl-C, while ranks run: a press is noted, and the run ends in an orderly way."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

ECHO = 2.0  # seconds after a stop in which further presses count as part of it


class StopButton:
    """A context in which SIGINT only sets `pressed`; the code inside polls it and stops by itself.

    Impatient users press more than once: for ECHO seconds after the context, further presses are ignored, so that they
    do not cut off the report. If the block was pressed and ends without an exception, KeyboardInterrupt is raised.
    Processes started inside obey SIGINT. Only the main thread receives SIGINT: in other threads, and where SIGINT is
    ignored, this does nothing.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._before: Any = None  # the handler that ours replaces, if it does
        self._echo_end = 0.0

    def __enter__(self) -> StopButton:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and callable(signal.getsignal(signal.SIGINT)):
            self._before = signal.signal(signal.SIGINT, self._press)  # child processes would inherit SIG_IGN
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._before is None:
            return
        self._echo_end = time.monotonic() + ECHO
        signal.signal(signal.SIGINT, self._press_again if self.pressed else self._before)
        if self.pressed and kind is None:
            raise KeyboardInterrupt

    def _press(self, *_: object) -> None:
        self.pressed = True

    def _press_again(self, number: int, frame: Any) -> None:
        if time.monotonic() > self._echo_end:
            signal.signal(signal.SIGINT, self._before)
            self._before(number, frame)
