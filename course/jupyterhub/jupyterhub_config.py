"""JupyterHub for courses on one machine. `./lockstep hub` starts it.

To change something, write only that into a file of your own, and start the hub by `./lockstep hub --config FILE`:

    c = get_config()
    c.JupyterHub.ssl_cert = "/etc/ssl/hub.pem"

docs/admins.md has such lines for TLS, login services, limits, culling and subdomains; slurm_config.py is such
a file.
"""

import os
import sys
from pathlib import Path

from course.jupyterhub.accounts.homes import make_home_first
from course.jupyterhub.accounts.login import AccountAuthenticator, TrialAuthenticator
from course.jupyterhub.courses import everybody, read_courses, roles
from course.jupyterhub.hub_handlers import counts, lectures_site, steps
from course.jupyterhub.hub_handlers.links import FormgraderLink
from course.jupyterhub.hub_handlers.waiting import URL, WaitingOfCourse, own_name
from course.jupyterhub.place import CONFIG, FOLDER, PORT, REPOSITORY, Place
from course.jupyterhub.processes import AccountSpawner, TrialSpawner
from course.jupyterhub.proxy import proxy_command

c = get_config()  # noqa: F821
place = Place(Path(os.environ[FOLDER]))
courses = read_courses(place.courses_file)
port = int(os.environ[PORT])
root = os.geteuid() == 0
own_programs = Path(sys.executable).parent
server = str(own_programs / "jupyterhub-singleuser")
start = [sys.executable, "-P", "-m", "course.homes.start"]  # a server, whatever its home is like
programs = os.pathsep.join([str(own_programs), "/usr/local/bin", "/usr/bin", "/bin"])  # PATH of all servers


def landing_page(handler: object) -> str:
    """Students go to their server, instructors to the page with links to their formgraders and their server."""
    user = handler.current_user
    teaches = user and any(group.name.startswith("formgrade-") for group in user.groups)
    return f"{handler.hub.base_url}home" if teaches else ""


# Listen on this machine only: traffic that leaves it must be encrypted, see docs/admins.md for TLS.
c.JupyterHub.bind_url = f"http://127.0.0.1:{port}"
# Fixed ports, so that running servers find the hub again after a restart.
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{port + 81}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{port + 1}"

# Node itself: JupyterHub could end a script that starts it, and leave the proxy running.
c.ConfigurableHTTPProxy.command = proxy_command()

# What survives a restart is in a folder that only the hub can enter: the database contains tokens, and JupyterHub makes
# it readable by all.
c.JupyterHub.db_url = f"sqlite:///{place.private / 'jupyterhub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(place.private / "cookie_secret")
c.ConfigurableHTTPProxy.pid_file = str(place.proxy_file)
# Students can go on working during a restart of the hub: its end does not end their servers.
c.JupyterHub.cleanup_servers = False

# Only those in courses.toml may log in, not everybody whom the login service knows.
c.Authenticator.allowed_users = set(everybody(courses))
if root:
    # The machine's accounts and passwords.
    c.JupyterHub.authenticator_class = AccountAuthenticator
    # PAM's sessions are for logins at a terminal; without one, some of its modules fail. What pam_mkhomedir does in a
    # session is done before a server starts.
    c.PAMAuthenticator.open_sessions = False
    c.Spawner.pre_spawn_hook = make_home_first
else:
    # One password for all, to try the hub out: everybody can log in as anybody.
    c.JupyterHub.authenticator_class = TrialAuthenticator
    c.SharedPasswordAuthenticator.user_password = (place.private / "password").read_text().strip()

# The hub's own pages: an instructor's courses, and what to do, in words.
c.JupyterHub.template_paths = [str(REPOSITORY / "course" / "jupyterhub" / "templates")]
c.JupyterHub.template_vars = {
    "own_courses": {course.name: course.title for course in courses},
    "own_name": lambda user: own_name(user.name) if user else "",  # JupyterHub calls it for each page
    # JupyterHub reports a wrong password and a name that may not log in in the same words, so say what to do.
    "announcement_login": "Log in with your account and password on this machine. If that fails: who is in no course "
    "yet cannot log in; ask your instructor."
    if root
    else "To try it out: any name of courses.toml, and the password that ./lockstep hub printed.",
}

c.JupyterHub.load_groups = {
    name: {"users": list(members)} for course in courses for name, members in course.groups.items()
}
c.JupyterHub.load_roles = roles(courses)

# As root, each server runs as its user's account, which keeps users apart. Otherwise all run as one account.
c.JupyterHub.spawner_class = AccountSpawner if root else TrialSpawner
c.SimpleLocalProcessSpawner.home_dir_template = str(place.homes / "{username}")
c.Spawner.default_url = "/labs"  # what to do next, see pages/your_labs.py
c.JupyterHub.default_url = landing_page  # after logging in
# Others cannot read the files that a user makes, wherever they are.
c.Spawner.cmd = ["sh", "-c", 'umask 077; exec "$0" "$@"', *start, "--apart", server]
c.Spawner.environment = {
    # The configuration of servers that fetch and hand in, unlike that of the formgraders below.
    "JUPYTER_CONFIG_PATH": str(REPOSITORY / "course" / "jupyterhub" / "people"),
    "LOCKSTEP_EXCHANGE": str(place.exchange),
    # Whether the site below is there, of which a student's account sees nothing.
    "LOCKSTEP_LECTURES": lambda _: "built" * lectures_site.is_built(),
    "PATH": programs,
    # What students have beside a notebook, a course.py say, must not be taken for the kit.
    "PYTHONPATH": str(REPOSITORY),
}
# A server that died is noticed within so many seconds, and can be started again.
c.Spawner.poll_interval = 10
# When a class begins, all its servers start at once; each takes a core for some seconds.
c.JupyterHub.concurrent_spawn_limit = 10
c.Spawner.start_timeout = 120
c.Spawner.http_timeout = 120
c.Spawner.args = [
    # A world of four ranks takes about 1 GB. It ends with its kernel, and a kernel ends after so many idle seconds,
    # even if a forgotten browser still shows it; files and outputs stay.
    "--MappingKernelManager.cull_idle_timeout=7200",
    "--MappingKernelManager.cull_connected=True",
    "--MappingKernelManager.cull_interval=120",
]

# Services must end with the hub, even if it is killed; else the next hub would find their ports taken.
ending_with_hub = ["setpriv", "--pdeathsig", "TERM", "--"]
c.JupyterHub.services = [
    {
        "name": "roster",  # keeps users, groups and gradebooks as courses.toml says, also while the hub runs
        "command": [*ending_with_hub, sys.executable, "-m", "course.jupyterhub.roster", str(place.root)],
        "cwd": str(REPOSITORY),
    },
    {
        "name": "culler",  # ends servers that nobody has used for a day
        "command": [*ending_with_hub, sys.executable, "-m", "jupyterhub_idle_culler", "--timeout=86400"],
    },
    *(
        {
            "name": course.name,
            "url": f"http://127.0.0.1:{port + 1000 + number}",
            "command": [*ending_with_hub, *start, server],
            "cwd": str(place.course(course)),
            # The grader's account owns the course's folder and gradebook; nobody can log in as it.
            **({"user": course.grader} if root else {}),
            "environment": {
                # No student's code runs as the grader.
                **({"LOCKSTEP_SANDBOX_REQUIRED": "1"} if root else {}),
                "JUPYTER_CONFIG_PATH": str(REPOSITORY / "course" / "jupyterhub" / "grader"),
                "LOCKSTEP_COURSE": str(place.course(course)),
                "PATH": programs,
            },
            # No confirmation page: the hub tells the formgrader nothing but who the user is.
            "oauth_no_confirm": True,
        }
        for number, course in enumerate(courses)
    ),
]
of_courses = {"place": place, "courses": {course.name: course for course in courses}}
# The formgrader's links to files lack the course's part of the URL.
c.JupyterHub.extra_handlers = [
    (r"/(?:tree|notebooks|edit)/.*", FormgraderLink),
    (URL, WaitingOfCourse, of_courses),
    (steps.URL, steps.StepOfCourse, of_courses),
    (counts.URL, counts.HandInsOfStudent, of_courses),
    lectures_site.HANDLER,
]

# The admin's own file, named by --config, has the last word.
if own_config := os.environ.get(CONFIG):
    load_subconfig(own_config)  # noqa: F821
