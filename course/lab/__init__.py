"""The modules of the lab whose notebook runs in this folder: `from course.lab.figures.shares import shares_picture`.

A lab has `figures/` and `models/` of its own. They are found in the folder in which this process started, which for a
notebook and its ranks is the lab's.
"""

from __future__ import annotations

import os

__path__ = [os.getcwd()]
