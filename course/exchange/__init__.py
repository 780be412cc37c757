"""Safe submission: nbgrader's exchange with permissions that keep students apart."""
