"""Follows the courses file of a hub, whose folder the argument names, as long as the hub runs."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from pathlib import Path

import requests

from course.jupyterhub.courses import CoursesError, read_courses
from course.jupyterhub.place import Place
from course.jupyterhub.roster.gradebooks import keep_gradebooks
from course.jupyterhub.roster.hub_users import Hub, follow, take_out
from course.processes.surroundings.proxies import spare_hub

POLL = 2.0  # seconds between two looks at the file
SETTLING = 30.0  # seconds in which who was taken out may be in again, by a login that the hub had begun before


def main() -> None:
    """See the module."""
    logging.basicConfig(level=logging.INFO, format="roster: %(message)s")
    spare_hub(os.environ)
    place = Place(Path(sys.argv[1]))
    # A gradebook that is locked, or a course that its instructors broke, keeps nobody waiting who is to get in.
    threading.Thread(target=keep_gradebooks, args=[place, POLL], daemon=True).start()
    path = place.courses_file
    hub = Hub(os.environ["JUPYTERHUB_API_URL"], os.environ["JUPYTERHUB_API_TOKEN"])
    done, settled = None, 0.0
    while True:
        try:
            state = path.stat().st_mtime_ns
            if state != done:
                done = state
                out = follow(hub, read_courses(path))
            else:
                out = time.monotonic() < settled and take_out(hub, read_courses(path))
            if out:
                settled = time.monotonic() + SETTLING
        except requests.RequestException as error:  # the hub is still starting, or a server is still stopping
            logging.warning("trying again: %s", error)
            done = None
        except (CoursesError, OSError) as error:
            logging.error("%s Nothing is changed.", error)
        time.sleep(POLL)


if __name__ == "__main__":
    main()
