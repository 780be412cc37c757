"""The page *Your labs* as a student reads it, in a test without a server."""

from __future__ import annotations

import re
from datetime import datetime

from course.jupyterhub.pages.lab_states import course_states
from course.jupyterhub.pages.rendering import hub_pages
from course.jupyterhub.pages.student_exchange import StudentExchange


def write_page(exchange: StudentExchange, **more: object) -> str:
    """The text of the student's page, without its tags."""
    known = {
        "courses": course_states(exchange),
        "student": exchange.student,
        "now": datetime(2026, 2, 1),
        "hub": "/hub",
    }
    known |= {"base_url": "/", "xsrf": "", "open_page": str, "lectures": [], "site": None}
    html = hub_pages().get_template("your_labs.html").render(known | more)
    main = html.partition("<main>")[2].partition("<script>")[0]
    return " ".join(re.sub("<[^>]+>", " ", main).split())
