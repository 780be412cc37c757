"""The colours of what a rank does, the same in all pictures of this lab."""

from course.figures.style import COLOURS

COMPUTING, COMMUNICATING = COLOURS[5], COLOURS[1]
HIDDEN = {"facecolor": COMPUTING, "hatch": "////", "edgecolor": COMMUNICATING, "linewidth": 0}
NAMES = ("computing", "computing, while communication is hidden", "exposed communication", "idle")
