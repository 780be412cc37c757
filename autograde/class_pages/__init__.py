"""Pages of a course's server for its instructors: extensions of Jupyter Server, which run as the course's grader."""
