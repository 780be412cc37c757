"""`python -m autograde` is `lockstep`."""

from autograde.cli import main

main(prog_name="lockstep")
