"""Makes `.venv`: the pinned packages and Horovod. `./lockstep` runs it as `python3 -m autograde.install`.

There is no `.venv` yet when it starts, so it imports only the standard library, and so must `autograde/__init__.py`. It
can be interrupted at any time: the stamp that tells `./lockstep` that all is ready is written last, and the next run
repairs what it finds.
"""
