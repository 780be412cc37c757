"""One rank of a training by torchrun, started by `course.batch.torchrun`: calls a notebook's `batch_training`.

The notebook must define, in any of its cells,

    batch_training(comm, epochs, checkpoint) -> {"todo", "history", "samples", "data"}

(see `course.batch.record.record`), where `comm` has `allgather`. Only the imports and definitions in its cells are run,
so no world is started. If the notebook imports Horovod, it is initialised over gloo, because torchrun starts no MPI.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections import Counter
from contextlib import ExitStack, chdir
from pathlib import Path
from typing import Any

import torch.distributed as dist
from IPython.core.inputtransformer2 import TransformerManager

from course.batch.record import place, report_of
from course.batch.run import read_notebook
from course.calls.main_module import become_main, main_put_back
from course.processes.surroundings.folder import folder_last

ENTRY = "batch_training"
DEFINE = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


class Ranks:
    """All ranks, which communicate by the library that the notebook has started."""

    def allgather(self, value: Any) -> list:
        """Each rank's value, by rank."""
        if dist.is_initialized():
            values: list[Any] = [None] * dist.get_world_size()
            dist.all_gather_object(values, value)
            return values
        import horovod.torch as hvd

        return hvd.allgather_object(value)


def defines(node: ast.stmt) -> bool:
    """Whether a statement of a cell only defines something: also a name for a number, a text, or several of them."""
    if not isinstance(node, ast.Assign):
        return isinstance(node, DEFINE)
    parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    return all(isinstance(part, ast.Constant) for part in parts)


def definitions(path: Path, entry: str = ENTRY) -> dict[str, Any]:
    """The names that the notebook's imports, functions, classes and constants define, as the module `__main__`.

    Its folder is where `course.lab` finds the lab's own modules. Raises SystemExit if `entry` is not one of the
    names."""
    namespace, notebook = become_main({}), read_notebook(path)
    with chdir(path.parent):
        for cell in notebook.cells:
            if cell.cell_type == "code":
                tree = ast.parse(TransformerManager().transform_cell(cell.source))
                tree.body = [node for node in tree.body if defines(node)]
                exec(compile(tree, f"<cell {cell.get('id')}>", "exec"), namespace)
    if entry not in namespace:
        raise SystemExit(f"{path.name} defines no `{entry}`, so torchrun cannot run it; `sbatch run.sh` can")
    return namespace


def start_horovod(stack: ExitStack) -> None:
    """Initialise Horovod on torchrun's ranks, until `stack` is left."""
    from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
    from horovod.runner.http.http_server import RendezvousServer

    dist.init_process_group("gloo")
    ranks, me = Ranks(), int(os.environ["RANK"])
    on_node = Counter(ranks.allgather(int(os.environ["GROUP_RANK"])))
    # Horovod numbers ranks node by node, as torchrun does.
    hosts = ",".join(f"node{node}:{count}" for node, count in sorted(on_node.items()))
    slots = get_host_assignments(parse_hosts(hosts), on_node.total(), on_node.total())
    port = 0
    if me == 0:
        server = RendezvousServer()
        port = server.start()
        server.init(slots)
        stack.callback(server.stop)
    slot, port = slots[me], max(ranks.allgather(port))
    dist.destroy_process_group()
    names = ("hostname", "rank", "size", "local_rank", "local_size", "cross_rank", "cross_size")
    settings = {f"HOROVOD_{name.upper()}": getattr(slot, name) for name in names}
    settings |= {"HOROVOD_CONTROLLER": "gloo", "HOROVOD_CPU_OPERATIONS": "gloo"}
    settings |= {"HOROVOD_GLOO_RENDEZVOUS_ADDR": os.environ["MASTER_ADDR"], "HOROVOD_GLOO_RENDEZVOUS_PORT": port}
    os.environ.update({name: str(value) for name, value in settings.items()})
    import horovod.torch as hvd

    hvd.init()
    stack.callback(hvd.shutdown)


def main(notebook: Path, folder: Path, epochs: int) -> None:
    """Train; rank 0 writes the report into `folder`."""
    folder_last()
    ranks = Ranks()
    with main_put_back(), ExitStack() as stack:
        namespace = definitions(notebook)
        if "horovod" in sys.modules:
            start_horovod(stack)
        done = namespace[ENTRY](ranks, epochs, str(folder / "checkpoint.pt"))
        places = ranks.allgather(place())
        if int(os.environ["RANK"]) == 0:
            (folder / "reports.jsonl").write_text(json.dumps(report_of(places=places, **done)) + "\n")
    if dist.is_initialized():  # its threads must end before Python does, which would abort
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
