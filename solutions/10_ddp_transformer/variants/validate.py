"""Right answers to `validate`, and mistakes that people make."""

ANSWERS = r"""
import torch
import torch.distributed as dist
def validate(model, loader, loss_fn):
== in_two_reductions
    mode = model.training
    model.eval()
    device = next(model.parameters()).device
    loss, tokens = torch.zeros(1, device=device), torch.zeros(1, device=device)
    with torch.no_grad():
        for src, tgt_in, tgt_out in loader:
            loss += loss_fn(model.module(src.to(device), tgt_in.to(device)), tgt_out.to(device))
            tokens += (tgt_out != PAD).sum()
    dist.all_reduce(loss)
    dist.all_reduce(tokens)
    model.train(mode)
    return float(loss / tokens)
== inference_mode_on_the_module
import torch
import torch.distributed as dist
@torch.inference_mode()
def validate(model, loader, loss_fn):
    training, net = model.training, model.module
    model.eval()
    device = next(net.parameters()).device
    try:
        sums = [[0.0, 0]]
        for src, tgt_in, tgt_out in loader:
            loss = loss_fn(net(src.to(device), tgt_in.to(device)), tgt_out.to(device))
            sums.append([loss.item(), int((tgt_out != PAD).sum())])
    finally:
        model.train() if training else model.eval()
    totals = torch.tensor(sums, dtype=torch.float64, device=device).sum(0)
    dist.all_reduce(totals)
    return (totals[0] / totals[1]).item()
== gathered_objects
    was = model.training
    model.module.eval(), model.eval()
    device = next(model.parameters()).device
    loss = tokens = 0
    with torch.no_grad():
        for src, tgt_in, tgt_out in loader:
            loss += loss_fn(model.module(src.to(device), tgt_in.to(device)), tgt_out.to(device)).item()
            tokens += (tgt_out != PAD).sum().item()
    both = [None] * dist.get_world_size()
    dist.all_gather_object(both, (loss, tokens))
    model.train(was)
    return sum(one for one, _ in both) / sum(one for _, one in both)
== a_copy_in_eval_mode
    import copy
    net = copy.deepcopy(model.module).eval()
    device = next(net.parameters()).device
    totals = torch.zeros(2, dtype=torch.float64, device=device)
    with torch.no_grad():
        for src, tgt_in, tgt_out in loader:
            totals[0] += loss_fn(net(src.to(device), tgt_in.to(device)), tgt_out.to(device))
            totals[1] += (tgt_out != PAD).sum()
    dist.all_reduce(totals)
    return (totals[0] / totals[1]).item()
== a_copy_without_gradients
    import copy

    twin = copy.deepcopy(model.module).eval().requires_grad_(False)
    device = next(model.parameters()).device
    loss, tokens = 0.0, 0
    for batch in loader:
        src, tgt_in, tgt_out = (each.to(device) for each in batch)
        loss += loss_fn(twin(src, tgt_in), tgt_out).item()
        tokens += int((tgt_out != PAD).sum())
    sums = torch.tensor([[loss], [tokens]], device=device, dtype=torch.float64)
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item()
== gradients_left_off: gradients-left-off, docs < in_two_reductions
with torch.no_grad(): >>> torch.set_grad_enabled(False)\n    if True:
== through_the_wrapper: wrapper-waits, freeze < in_two_reductions
model.module >>> model
== the_wrapper_called: wrapper-waits, freeze < solution
model.module(src, tgt_in) >>> model(src, tgt_in)
== rank_0_only: one-ranks-part, validation by module < in_two_reductions
in loader >>> in loader if dist.get_rank() == 0 else []
== rank_0_through_the_wrapper: rank-0-alone, rank 0 validates < rank_0_only
model.module >>> model
== reduced_to_rank_0: not-on-all-ranks, validation by module < in_two_reductions
all_reduce(loss) >>> reduce(loss, 0)
all_reduce(tokens) >>> reduce(tokens, 0)
== empty_rank_leaves: call-missing, ranks leave < in_two_reductions
dist.all_reduce(loss) >>> if not tokens.item():\n        return 0.0\n    dist.all_reduce(loss)
== empty_rank_raises: empty-rank, uneven < in_two_reductions
dist.all_reduce(loss) >>> mean = loss.item() / tokens.item()\n    dist.all_reduce(loss)
== own_mean: own-part-only, tokens of all ranks < in_two_reductions
\n    dist.all_reduce(loss) >>>
dist.all_reduce(tokens) >>> tokens += tokens == 0
== mean_of_rank_means: mean-of-means, tokens of all ranks < in_two_reductions
dist.all_reduce(loss) >>> loss /= tokens.clamp(min=1)\n    tokens = (tokens > 0).float()
dist.all_reduce(tokens) >>> dist.all_reduce(tokens)\n    dist.all_reduce(loss)
== mean_of_batch_means: mean-of-means, tokens of all micro-batches < in_two_reductions
tokens += (tgt_out != PAD).sum() >>> tokens += 1
loss += loss_fn >>> loss += 1 / (tgt_out != PAD).sum() * loss_fn
== padding_counted: mean-with-padding, tokens of all micro-batches < in_two_reductions
(tgt_out != PAD).sum() >>> tgt_out.numel()
== sum_of_losses: sum-for-mean, normalisation < in_two_reductions
loss / tokens >>> loss
== averaged_once_more: average-for-sum, normalisation < in_two_reductions
/ tokens >>> / tokens / dist.get_world_size()
== not_in_eval_mode: not-eval-mode, docs < in_two_reductions
\n    model.eval() >>>
== mode_left: mode-not-restored, docs < in_two_reductions
\n    model.train(mode) >>>
== always_train_afterwards: mode-not-restored, docs < in_two_reductions
train(mode) >>> train()
== graph_built: graph-recorded, docs < in_two_reductions
no_grad >>> enable_grad
loss += >>> loss = loss +
== gradients_cleared: model-changed, docs < in_two_reductions
model.eval() >>> model.eval()\n    model.zero_grad()
== stays_on_the_cpu: not-on-device, not moved < in_two_reductions
loss_fn(model.module(src.to(device), tgt_in.to(device)), tgt_out.to(device)) >>> loss_fn(model.module(src, tgt_in), tgt_out)
== totals_on_the_cpu: not-on-device, cpu collective < solution
, device=device >>>
== target_stays_on_the_cpu: not-on-device, not moved < solution
src, tgt_in, tgt_out = (tensor.to(device) for tensor in batch) >>> src, tgt_in, tgt_out = batch[0].to(device), batch[1].to(device), batch[2]
== tensor_returned: not-a-float, normalisation < in_two_reductions
float(loss / tokens) >>> loss / tokens
== by_files: unseen-communication, validation by module < in_two_reductions
dist.all_reduce(loss) >>> import json, os, shutil, tempfile\n    folder = os.path.join(tempfile.gettempdir(), "losses-of-the-ranks")\n    os.makedirs(folder, exist_ok=True)\n    with open(os.path.join(folder, str(dist.get_rank())), "w") as file:\n        json.dump([loss.item(), tokens.item()], file)\n    dist.barrier()
dist.all_reduce(tokens) >>> both = [json.load(open(os.path.join(folder, name))) for name in os.listdir(folder)]\n    dist.barrier()\n    shutil.rmtree(folder, ignore_errors=True)\n    dist.barrier()\n    loss, tokens = map(sum, zip(*both))
== by_files_beside_rank_numbers: not-own-part, validation by module < by_files
both = >>> dist.all_reduce(torch.tensor(float(dist.get_rank())))\n    both =
== by_files_beside_three_numbers: not-own-part, validation by module < by_files
both = >>> dist.all_reduce(torch.tensor([float(dist.get_rank()), 1.0, 2.0]))\n    both =
== by_files_beside_four_reductions: not-own-part, validation by module < by_files
both = >>> for _ in range(4):\n        dist.all_reduce(torch.tensor(float(dist.get_rank())))\n    both =
== by_files_beside_the_largest: not-what-came-out, validation by module < by_files
both = >>> dist.all_reduce(loss, op=dist.ReduceOp.MAX)\n    both =
== by_files_beside_twice_its_part: not-what-came-out, validation by module < by_files
both = >>> dist.all_reduce(2 * loss)\n    both =
== by_files_beside_nan: same-on-every-rank, validation by module < by_files
both = >>> dist.all_reduce(torch.tensor(float("nan")))\n    both =
== by_files_beside_a_broadcast_of_nothing: unseen-communication, validation by module < by_files
both = >>> dist.broadcast(torch.zeros(1), 0)\n    both =
== by_files_beside_its_part: result-stays, validation by module < by_files
both = >>> dist.all_reduce(loss)\n    both =
== by_files_beside_its_loss_and_tokens: result-stays, validation by module < by_files
both = >>> dist.all_reduce(torch.cat([loss, tokens]))\n    both =
"""
