"""Right answers to `load_checkpoint`, and mistakes that people make."""

ANSWERS = r"""
import os
import torch
import torch.distributed as dist
def load_checkpoint(path, model, optimizer):
== plain
    if not os.path.exists(path):
        return (0, 0)
    try:
        state = torch.load(path, map_location="cpu")
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        place = state["epoch"], state["consumed"]
        rank, random = dist.get_rank(), state["random"]
        if rank < len(random):
            torch.set_rng_state(random[rank][0])
    except Exception as error:
        raise ValueError(f"{path}: {error!r}") from error
    return place
== try_it
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        return 0, 0
    except Exception as error:
        raise RuntimeError(f"{path} is damaged") from error
    if missing := {"model", "optimizer", "epoch", "consumed", "random"} - set(state):
        raise KeyError(f"{path} lacks {missing}")
    try:
        model.module.load_state_dict(state["model"], strict=True)
    except RuntimeError as error:
        raise RuntimeError(f"{path}: {error}") from error
    optimizer.load_state_dict(state["optimizer"])
    for rank, (cpu, *gpu) in enumerate(state["random"]):
        if rank == dist.get_rank():
            torch.random.set_rng_state(cpu)
            for one in gpu if torch.cuda.is_available() else ():
                torch.cuda.set_rng_state(one)
    return state["epoch"], state["consumed"]
== random_not_restored: random-not-restored, random not saved < plain
torch.set_rng_state(random[rank][0]) >>> pass
== rank_0s_random: rank-0s-random, rank 0's random for all < plain
random[rank][0] >>> random[0][0]
== restored_too_early: random-moved-on, restored too early < plain
    return place >>>     torch.rand(3)\n    return place
== next_ranks_random: wrong-random, rank 0's random < plain
random[rank][0] >>> random[rank - 1][0]
== modulo: newcomers-get-others, rank 0's random < plain
        if rank < len(random):\n >>>
            torch.set >>>         torch.set
random[rank][0] >>> random[rank % len(random)][0]
== newcomers_fail: fewer-ranks-refused, rank 0's random < plain
        if rank < len(random):\n >>>
            torch.set >>>         torch.set
== one_state_for_each: gpus-file-refused, map_location < plain
torch.set_rng_state(random[rank][0]) >>> [state] = random[rank]\n            torch.set_rng_state(state)
== last_state: gpus-file-refused, map_location < plain
random[rank][0] >>> random[rank][-1]
== momentum_lost: optimizer-not-loaded, momentum lost < plain
        optimizer.load_state_dict(state["optimizer"]) >>>         state["optimizer"]
== weights_forgotten: weights-not-loaded, not resumed < plain
        model.module.load_state_dict(state["model"]) >>>         state["model"].keys() == model.module.state_dict().keys() or 1 / 0
== rank_0_only: rank-0-only, rank 0 loads < plain
        model.module.load_state_dict(state["model"]) >>>         if state["model"].keys() != model.module.state_dict().keys():\n            raise KeyError(path)\n        if dist.get_rank() == 0:\n            model.module.load_state_dict(state["model"])
== not_strict: strict-false, strict=False < plain
state["model"]) >>> state["model"], strict=False)
== no_map_location: no-map-location, map_location < plain
, map_location="cpu") >>> )
== no_file_raises: no-file-is-an-error, no file < plain
    if not os.path.exists(path):\n        return (0, 0)\n >>>
== begins_at_1: starts-elsewhere, no file < plain
(0, 0) >>> (1, 0)
== begins_with_one_number: starts-elsewhere, no file < plain
(0, 0) >>> 0
== next_epoch: not-the-files-place, epoch begun anew < plain
state["epoch"], state >>> state["epoch"] + 1, state
== epoch_begun_anew: not-the-files-place, mid-epoch < plain
place = state["epoch"], state["consumed"] >>> state["consumed"]\n        place = state["epoch"], 0
== swallowed: broken-file-ignored, swallowed < plain
raise ValueError(f"{path}: {error!r}") from error >>> return 0, 0
== some_entries: missing-entry-ignored, no optimizer < plain
state["consumed"] >>> state.get("consumed", 0)
== rank_0_refuses: some-ranks-refuse, rank 0 loads < plain
        raise ValueError(f"{path}: {error!r}") from error >>>         if dist.get_rank() == 0:\n            raise ValueError(path) from error\n        return 0, 0
== bare_error: error-names-no-file, error without a name < plain
f"{path}: {error!r}" >>> "the checkpoint does not fit"
"""
