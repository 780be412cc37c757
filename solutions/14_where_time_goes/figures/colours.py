"""The colours of what a rank does, the same in all pictures of this lab."""

from course.figures.ranks.call_colours import colour
from course.figures.style import COLOURS

COMPUTING, EXPOSED = COLOURS[5], colour("allreduce")
HIDDEN = COLOURS[2]
