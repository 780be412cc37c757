"""Checks as rubrics: criteria with points, mistakes with words. Trusted; never in the sandbox."""
