"""Holds the checks against rewritings of right answers, which change nothing and must all keep their points."""
