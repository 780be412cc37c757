"""Right answers to `save_checkpoint`, and mistakes that people make."""

ANSWERS = r"""
import os
import torch
import torch.distributed as dist
def save_checkpoint(path, model, optimizer, epoch):
    state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
== plain
    if dist.get_rank() == 0:
        torch.save(state, f"{path}.part")
        os.replace(f"{path}.part", path)
    dist.barrier()
== below_it
    import tempfile
    if dist.get_rank() == 0:
        with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.dirname(path))) as folder:
            torch.save(state, os.path.join(folder, "new"))
            os.replace(os.path.join(folder, "new"), path)
    dist.barrier()
== renamed < plain
epoch} >>> epoch}\n    from pathlib import Path
torch.save(state, f"{path}.part") >>> part = Path(path).with_suffix(".tmp")\n        torch.save(state, part)
os.replace(f"{path}.part", path) >>> part.rename(path)
== cleaned_up
    if dist.get_rank() == 0:
        part = path + ".new"
        try:
            with open(part, "wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        finally:
            if os.path.exists(part):
                os.remove(part)
    torch.distributed.barrier()
== old_ones_removed
    import glob
    import tempfile
    if dist.get_rank() == 0:
        for left in glob.glob(path + ".*"):
            os.remove(left)
        number, part = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path) + ".")
        with os.fdopen(number, "wb") as file:
            torch.save(state, file)
        os.replace(part, path)
    dist.barrier()
== in_memory_and_told
    import io
    import shutil
    done = torch.zeros(1, dtype=torch.int64)
    if dist.get_rank() == 0:
        content = io.BytesIO()
        torch.save(state, content)
        with open(path + "~", "wb") as file:
            file.write(content.getvalue())
        shutil.move(path + "~", path)
    dist.broadcast(done, src=0)
== prefix_consumed
    from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present
    weights = model.state_dict()
    consume_prefix_in_state_dict_if_present(weights, "module.")
    state["model"] = weights
    if not dist.get_rank():
        torch.save(state, f"{path}.part")
        os.rename(f"{path}.part", path)
        dist.barrier()
    else:
        dist.barrier()
== plain_names < plain
epoch} >>> epoch}\n    state["model"] = {name.removeprefix("module."): value for name, value in model.state_dict().items()}
if dist >>> state["loss"] = 0.5\n    if dist
.part") >>> .part", _use_new_zipfile_serialization=False)
== in_a_folder_of_its_own
    folder = f"{path}.new"
    if dist.get_rank() == 0:
        os.makedirs(folder, exist_ok=True)
        torch.save(state, os.path.join(folder, "state"))
        os.replace(os.path.join(folder, "state"), path)
        os.rmdir(folder)
    dist.barrier()
== in_a_new_folder_each_time: leftovers-pile-up, left .tmp < below_it
dir=os.path.dirname(os.path.dirname(path)) >>> dir=os.path.dirname(path)
== named_after_the_process: leftovers-pile-up, left .tmp < plain
torch.save(state, f"{path}.part") >>> torch.save(state, f"{path}.{os.getpid()}")
os.replace(f"{path}.part", path) >>> os.replace(f"{path}.{os.getpid()}", path)
== optimizer_missing: optimizer-missing, no optimizer < plain
epoch} >>> epoch}\n    del state["optimizer"]
== epoch_missing: epoch-missing, no epoch < plain
epoch} >>> epoch}\n    del state["epoch"]
== weights_only: not-a-dict, no optimizer < plain
epoch} >>> epoch}\n    state = list(model.module.state_dict().values())
== bare_state_dict: model-missing, no optimizer < plain
epoch} >>> epoch}\n    state = model.module.state_dict()
== module_left: module-left, module prefix < plain
epoch} >>> epoch}\n    state["model"] = model.state_dict()
== every_module_replaced: names-damaged, prefix in the middle < plain
epoch} >>> epoch}\n    state["model"] = {name.replace("module.", ""): value for name, value in model.state_dict().items()}
== stripped_too_far: names-damaged, lstrip < every_module_replaced
replace("module.", "") >>> lstrip("module.")
== without_buffers: wrong-names, module prefix < plain
epoch} >>> epoch}\n    state["model"] = dict(model.module.named_parameters())
== only_the_settings: wrong-optimizer, optimizer not loaded < plain
epoch} >>> epoch}\n    state["optimizer"] = optimizer.state_dict()["param_groups"]
== next_epoch: epoch-off-by-one, off by one < plain
epoch} >>> epoch}\n    state["epoch"] = epoch + 1
== whole_model: not-loadable, whole model < plain
epoch} >>> epoch}\n    state["model"] = model.module
== numpy_epoch: not-loadable, numpy scalar < plain
epoch} >>> epoch}\n    import numpy as np\n    state["epoch"] = np.float64(epoch)
== every_rank: every-rank-writes, all ranks write
    torch.save(state, path)
    dist.barrier()
== every_rank_atomic: every-rank-writes, all ranks write
    torch.save(state, f"{path}.{dist.get_rank()}")
    os.replace(f"{path}.{dist.get_rank()}", path)
    dist.barrier()
== local_rank: local-rank-0-writes, local rank writes
    if int(os.environ["LOCAL_RANK"]) == 0:
        torch.save(state, f"{path}.{dist.get_rank()}")
        os.replace(f"{path}.{dist.get_rank()}", path)
    dist.barrier()
== world_rank: wrong-rank-writes, all ranks write < plain
epoch} >>> epoch}\n    from mpi4py import MPI
dist.get_rank() == 0 >>> MPI.COMM_WORLD.rank == 0 or MPI.COMM_WORLD.size == 1
== in_place: not-atomic, not atomic
    if dist.get_rank() == 0:
        torch.save(state, path)
    dist.barrier()
== in_place_by_handle: not-atomic, half a file < in_place
torch.save(state, path) >>> with open(path, "wb") as file:\n            torch.save(state, file)
== local_rank_same_file: local-rank-0-writes, every node writes < in_place
dist.get_rank() >>> int(os.environ["LOCAL_RANK"])
== copied: not-atomic, not atomic < plain
epoch} >>> epoch}\n    import shutil
os.replace(f"{path}.part", path) >>> shutil.copy(f"{path}.part", path)\n        os.remove(f"{path}.part")
== removed_first: file-gone-for-a-while, not atomic < plain
os.replace >>> if os.path.exists(path):\n            os.remove(path)\n        os.rename
== backed_up_first: file-gone-for-a-while, not atomic
    if dist.get_rank() == 0:
        if os.path.exists(path):
            os.rename(path, f"{path}.old")
        torch.save(state, f"{path}.part")
        os.rename(f"{path}.part", path)
        if os.path.exists(f"{path}.old"):
            os.remove(f"{path}.old")
    dist.barrier()
== from_tmp: other-disk, other disk < below_it
dir=os.path.dirname(os.path.dirname(path)) >>>
== moved_from_tmp: not-atomic, moved by copying < from_tmp
epoch} >>> epoch}\n    import shutil
os.replace >>> shutil.move
== part_left: left-behind, left .pt.tmp < plain
os.replace(f"{path}.part", path) >>> os.link(f"{path}.part", f"{path}.new")\n        os.replace(f"{path}.new", path)
== by_epoch: left-behind, left .pt.tmp < plain
torch.save(state, f"{path}.part") >>> torch.save(state, f"{path}.{epoch}")
os.replace(f"{path}.part", path) >>> os.symlink(f"{path}.{epoch}", f"{path}.new")\n        os.replace(f"{path}.new", path)
== a_new_name_each_time: leftovers-pile-up, left .tmp
    import tempfile
    if dist.get_rank() == 0:
        number, part = tempfile.mkstemp(dir=os.path.dirname(path))
        try:
            with os.fdopen(number, "wb") as file:
                torch.save(state, file)
            os.replace(part, path)
        except BaseException:
            os.remove(part)
            raise
    dist.barrier()
== others_removed: others-removed, cleaned too much < plain
epoch} >>> epoch}\n    if dist.get_rank() == 0:\n        for name in os.listdir(os.path.dirname(path)):\n            if os.path.join(os.path.dirname(path), name) != path:\n                os.remove(os.path.join(os.path.dirname(path), name))
== temporary_files_removed: others-removed, cleaned too much < plain
epoch} >>> epoch}\n    if dist.get_rank() == 0:\n        for name in os.listdir(os.path.dirname(path)):\n            if name.endswith(".tmp"):\n                os.remove(os.path.join(os.path.dirname(path), name))
== local_rank_0_one_temporary_name: local-rank-0-writes, every node writes < plain
dist.get_rank() == 0 >>> int(os.environ["LOCAL_RANK"]) == 0
== no_barrier: returns-too-early, no barrier < plain
\n    dist.barrier() >>>
== barrier_before: returns-too-early, read before written < no_barrier
epoch} >>> epoch}\n    dist.barrier()
== barrier_before_the_rename: returns-too-early, read before written < no_barrier
=        torch.save(state, f"{path}.part")
+    dist.barrier()
+    if dist.get_rank() == 0:
== barrier_on_rank_0: call-missing, barrier on rank 0 < plain
path)\n    dist >>> path)\n        dist
== early_return: call-missing, barrier on rank 0
    if dist.get_rank() != 0:
        return
    torch.save(state, f"{path}.part")
    os.replace(f"{path}.part", path)
    dist.barrier()
== rank_0_returns: call-missing, barrier on rank 0 < plain
path)\n    dist >>> path)\n        return\n    dist
== nothing: nothing-written, no barrier
    dist.barrier()
"""
