"""Right answers to `synchronize_start`, and mistakes that people make."""

ANSWERS = """
import horovod.torch as hvd
import torch
def synchronize_start(model, optimizer):
== by_horovods_functions
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== objects
    model.load_state_dict(hvd.broadcast_object(model.state_dict(), 0))
    optimizer.load_state_dict(hvd.broadcast_object(optimizer.state_dict(), 0))
== tensor_by_tensor
    with torch.no_grad():
        for name, values in model.state_dict().items():
            values.copy_(hvd.broadcast(values, 0, name=name))
    state = hvd.broadcast_object(optimizer.state_dict() if hvd.rank() == 0 else None, root_rank=0, name="optimizer")
    optimizer.load_state_dict(state)
== lists
    hvd.broadcast_parameters(list(model.named_parameters()), root_rank=0)
    hvd.broadcast_parameters(list(model.named_buffers()), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0, model=model)
== nothing: no-broadcast, no broadcast
    return None
== optimizer_only: no-broadcast, forgotten broadcast
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== parameters_only: buffers-not-broadcast, batch norm < by_horovods_functions
model.state_dict( >>> list(model.named_parameters()
== trained_parameters_only: frozen-not-broadcast, batch norm
    trained = [(name, each) for name, each in model.named_parameters() if each.requires_grad]
    hvd.broadcast_parameters(trained + list(model.named_buffers()), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== model_only: momentum-not-broadcast, optimizer state
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
== momentum_only: options-not-broadcast, optimizer options
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    state = hvd.broadcast_object(optimizer.state_dict(), root_rank=0)
    state["param_groups"] = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict(state)
== last_rank: not-rank-0s, rank 0 only
    hvd.broadcast_parameters(model.state_dict(), root_rank=hvd.size() - 1)
    hvd.broadcast_optimizer_state(optimizer, root_rank=hvd.size() - 1)
== averaged: rank-0-changed, average
    with torch.no_grad():
        for values in model.state_dict().values():
            values.copy_(hvd.allreduce(values.double()))
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== rate_averaged: rank-0-changed, average
    rate = hvd.allreduce(torch.tensor(optimizer.param_groups[0]["lr"], dtype=torch.float64)).item()
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    optimizer.param_groups[0]["lr"] = rate
== out_of_place: no-broadcast, no broadcast
    for name, values in model.state_dict().items():
        hvd.broadcast(values, 0, name=name)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== state_not_loaded: momentum-not-broadcast, resume < by_horovods_functions
broadcast_optimizer_state(optimizer >>> broadcast_object(optimizer.state_dict()
== only_rank_0: call-missing, rank 0 only
    if hvd.rank() == 0:
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== other_names_on_other_ranks: name-differs, names
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    state = hvd.broadcast_object(optimizer.state_dict() if hvd.rank() == 0 else None, root_rank=0)
    optimizer.load_state_dict(state)
== only_where_there_is_momentum: call-missing, resume
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    if optimizer.state_dict()["state"]:
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== reset: rank-0s-momentum-lost, resume < by_horovods_functions
=    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
+    optimizer.state.clear()
"""
