"""Right answers to `load_checkpoint`, and mistakes that people make."""

ANSWERS = r"""
import os
import torch
import torch.distributed as dist
def load_checkpoint(path, model, optimizer, device):
== plain
    if not os.path.exists(path):
        return 0
    try:
        state = torch.load(path, map_location=device)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        return state["epoch"] + 1
    except Exception as error:
        raise ValueError(f"{path} does not fit: {error!r}") from error
== try_it
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        return 0
    except Exception as error:
        raise ValueError(f"{path} is no checkpoint: {error}") from error
    try:
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        return state["epoch"] + 1
    except (KeyError, RuntimeError, ValueError) as error:
        raise ValueError(f"{path} does not fit this model: {error!r}") from error
== broadcast
    state = [None]
    if dist.get_rank() == 0 and os.path.isfile(path):
        try:
            state = [torch.load(path, map_location=device)]
        except Exception as error:
            state = [error]
    dist.broadcast_object_list(state, src=0)
    if state[0] is None:
        return 0
    try:
        model.module.load_state_dict(state[0]["model"])
        optimizer.load_state_dict(state[0]["optimizer"])
        return state[0]["epoch"] + 1
    except Exception as error:
        raise RuntimeError(f"cannot go on from {path}") from error
== with_the_prefix < plain
if not os.path.exists(path) >>> from pathlib import Path\n    if not Path(path).exists()
map_location=device >>> map_location=lambda storage, place: storage
model.module.load_state_dict(state["model"]) >>> model.load_state_dict({f"module.{name}": value for name, value in state["model"].items()})
return state["epoch"] + 1 >>> epoch = state["epoch"]

-        raise ValueError(f"{path} does not fit: {error!r}") from error
+        error.args = (f"{path}: {error}",)
+        raise
+    dist.barrier()
+    return epoch + 1
== keys_first
    if not os.path.exists(path):
        return 0
    try:
        state = torch.load(path, map_location=device, weights_only=True, mmap=True)
        missing = {"model", "optimizer", "epoch"} - state.keys()
        if missing:
            raise KeyError(str(missing))
        model.module.load_state_dict(state["model"])
    except Exception as error:
        raise SystemError(f"{os.path.basename(path)}: {error}")
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
== exits_with_a_message < plain
raise ValueError(f"{path} does not fit: {error!r}") from error >>> raise SystemExit(f"{path} does not fit: {error!r}")
== assigned: optimizer-has-old-parameters, assign < plain
["model"] >>> ["model"], assign=True
== repeats: repeats-an-epoch, epoch repeated < plain
 + 1 >>>
== skips: another-value, off by one < plain
1 >>> 2
== strict_false: strict-false, strict=False < plain
["model"] >>> ["model"], strict=False
== strict_false_on_the_wrapper: weights-not-loaded, strict=False hides < strict_false
.module >>>
== into_the_wrapper: good-file-refused, module prefix < plain
.module >>>
== what_matches: strict-false, strict=False hides < plain
-        model.module.load_state_dict(state["model"])
+        weights = model.module.state_dict()
+        weights.update({name: value for name, value in state["model"].items() if name in weights})
+        model.module.load_state_dict(weights)
== parameters_only: weights-not-loaded, strict=False hides < plain
-        model.module.load_state_dict(state["model"])
+        if state["model"].keys() != model.module.state_dict().keys():
+            raise KeyError("names")
+        with torch.no_grad():
+            for name, parameter in model.module.named_parameters():
+                parameter.copy_(state["model"][name])
== no_optimizer: optimizer-not-loaded, optimizer not loaded < plain
optimizer.load_state_dict(state["optimizer"]) >>> state["optimizer"]
== settings_only: optimizer-not-loaded, momentum lost < plain
-        optimizer.load_state_dict(state["optimizer"])
+        optimizer.param_groups[0].update({k: v for k, v in state["optimizer"]["param_groups"][0].items() if k != "params"})
== no_weights: weights-not-loaded, silently anew < plain
\n        model.module.load_state_dict(state["model"]) >>>
== rank_0_loads: rank-0-only, rank 0 loads
    epoch = torch.zeros(1, dtype=torch.int64)
    if dist.get_rank() == 0 and os.path.exists(path):
        try:
            state = torch.load(path, map_location=device)
            model.module.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            epoch += state["epoch"] + 1
        except Exception:
            epoch -= 1
    dist.broadcast(epoch, src=0)
    if epoch < 0:
        raise ValueError(path)
    return int(epoch)
== get_with_default: missing-entry-ignored, no optimizer < plain
optimizer.load_state_dict >>> if "optimizer" in state:\n            optimizer.load_state_dict
state["epoch"] >>> state.get("epoch", -1)
== no_map_location: no-map-location, map_location < plain
path, map_location=device >>> path
== no_file_raises: no-file-is-an-error, no file < plain
if not os.path.exists(path):\n        return 0\n    try: >>> try:
== everything_swallowed: broken-file-ignored, swallowed < no_file_raises
Exception as error >>> Exception
raise ValueError(f"{path} does not fit: {error!r}") from error >>> return 0
== broken_swallowed: broken-file-ignored, silently anew < no_file_raises
=        state = torch.load(path, map_location=device)
+    except Exception:
+        return 0
+    try:
== begins_at_1: starts-elsewhere, off by one < plain
0 >>> 1
== begins_with_nothing: starts-elsewhere, no file < plain
0 >>> None
== only_rank_0_refuses: some-ranks-refuse, rank 0 loads < plain
raise ValueError(f"{path} does not fit: {error!r}") >>> if dist.get_rank() == 0:\n            raise ValueError(path)
from error >>> from error\n        return 0
== the_bare_error: error-names-no-file, error without a name
    if not os.path.exists(path):
        return 0
    state = torch.load(path, map_location=device)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
"""
