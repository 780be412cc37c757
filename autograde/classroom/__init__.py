"""Grades a class with nbgrader: collects, rebuilds, grades, writes feedback and the class report."""
