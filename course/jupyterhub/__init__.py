"""Courses on JupyterHub: the hub's configuration, its accounts, and nbgrader's exchange between them."""
