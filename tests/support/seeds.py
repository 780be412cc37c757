"""The seed of all that tests draw: the same each time, but for `./lockstep test --all`, which draws and prints one."""

from __future__ import annotations

import os

SEED = int(os.environ.get("LOCKSTEP_SEED") or 20260101)
