"""Holds the checks against mutants: small changes of right answers, which must all lose points."""
