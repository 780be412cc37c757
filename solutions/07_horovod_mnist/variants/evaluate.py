"""Right answers to `evaluate`, and mistakes that people make."""

ANSWERS = r"""
import horovod.torch as hvd
import torch
from torch.utils.data import DataLoader, Subset
@torch.no_grad()
def evaluate(model, dataset, device):
== blocks
    mode = model.training
    model.eval()
    most = -(-len(dataset) // hvd.size())
    mine = range(most * hvd.rank(), min(most * (hvd.rank() + 1), len(dataset)))
    hits = 0.0
    with torch.inference_mode():
        for i in mine:
            inputs, label = dataset[i]
            hits += float(model(inputs[None].to(device)).argmax().item() == label)
    model.train(mode)
    return hvd.allreduce(torch.tensor(hits, dtype=torch.float64), op=hvd.Sum).item() / len(dataset)
== averages
    was_training = model.training
    model.train(False)
    hits = total = 0
    for i in range(hvd.rank(), len(dataset), hvd.size()):
        inputs, label = dataset[i]
        hits += int(model(inputs.unsqueeze(0).to(device)).argmax(1).item() == label)
        total += 1
    if was_training:
        model.train()
    both = hvd.allreduce(torch.tensor([float(hits), float(total)]))
    return (both[0] / both[1]).item()
== gathered
    mode = model.training
    model.eval()
    share = Subset(dataset, list(range(len(dataset)))[hvd.rank() :: hvd.size()])
    hits = [torch.zeros(0, dtype=torch.int32)]
    with torch.no_grad():
        for inputs, labels in DataLoader(share, batch_size=3):
            hits.append((model(inputs.to(device)).max(1).indices.cpu() == labels).int())
    model.train(mode)
    return float(hvd.allgather(torch.cat(hits)).double().mean())
== graph_recorded: graph-recorded, modes < blocks
@torch.no_grad()\n >>>
with torch.inference_mode() >>> with torch.enable_grad()
== cat_of_nothing: empty-rank, mean of means < gathered
hits = [torch.zeros(0, dtype=torch.int32)] >>> hits = []
hvd.allgather(torch.cat(hits)).double().mean() >>> hvd.allreduce(torch.cat(hits).sum(), op=hvd.Sum) / len(dataset)
== guesses_on_the_gpu: not-on-device, devices < solution
.cpu() >>>
== inputs_on_the_cpu: not-on-device, devices < blocks
.to(device) >>>
== hits_on_two_devices: not-on-device, devices < solution
.cpu() == labels >>> == labels.to(device)
== last_batch_only: wrong-value, metrics < solution
hits += >>> hits =
== own_share: own-part-only, metrics
    mode = model.training
    model.eval()
    mine = range(hvd.rank(), len(dataset), hvd.size())
    hits = sum(int(model(dataset[i][0][None].to(device)).argmax()) == dataset[i][1] for i in mine)
    model.train(mode)
    return hits / max(1, len(mine))
== local_ranks: share-by-local-rank, metrics < own_share
mine = range(hvd.rank(), len(dataset), hvd.size()) >>> mine = range(hvd.local_rank(), len(dataset), hvd.local_size())
hits / max(1, len(mine)) >>> hvd.allreduce(torch.tensor(hits), op=hvd.Sum).item() / len(dataset)
== average_of_whole_numbers: fraction-lost, average < own_share
hits / max(1, len(mine)) >>> hvd.allreduce(torch.tensor(hits)).item() * hvd.size() / len(dataset)
== rank_0s_share: one-ranks-part, metrics on rank 0 < own_share
hits / max(1, len(mine)) >>> hvd.broadcast(torch.tensor(hits / max(1, len(mine)), dtype=torch.float64), 0).item()
== mean_of_shares: mean-of-means, mean of means < own_share
hits / max(1, len(mine)) >>> hvd.allreduce(torch.tensor(hits / max(1, len(mine)), dtype=torch.float64)).item()
== mean_of_shares_left_in_eval_mode: mean-of-means, solver < mean_of_shares
\n    mode = model.training >>>
\n    model.train(mode) >>>
== tensor_returned: not-a-float, metrics < own_share
hits / max(1, len(mine)) >>> hvd.allreduce(torch.tensor(float(hits)), op=hvd.Sum) / len(dataset)
== gradients_left_off: gradients-left-off, modes < solution
with torch.no_grad() >>> torch.set_grad_enabled(False)\n    if True
== left_in_eval_mode: mode-not-restored, modes < own_share
\n    mode = model.training >>>
\n    model.train(mode) >>>
hits / max(1, len(mine)) >>> hvd.allreduce(torch.tensor(hits), op=hvd.Sum).item() / len(dataset)
== always_train_mode_afterwards: mode-not-restored, modes < left_in_eval_mode
return >>> model.train()\n    return
== everything: everything-on-every-rank, metrics < own_share
\n    mine = range(hvd.rank(), len(dataset), hvd.size()) >>>
in mine) >>> in range(len(dataset)))
max(1, len(mine)) >>> len(dataset)
== padding_counted: counted-twice, metric average < mean_of_shares
mode = >>> from torch.utils.data.distributed import DistributedSampler\n    mode =
mine = range(hvd.rank(), len(dataset), hvd.size()) >>> sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank(), shuffle=False)
in mine) >>> in sampler)
max(1, len(mine)) >>> len(sampler)
== tail_dropped: not-evaluated, mean of means < own_share
mine = range(hvd.rank(), len(dataset), hvd.size()) >>> few = len(dataset) // hvd.size()\n    mine = range(hvd.rank() * few, hvd.rank() * few + few)
hits / max(1, len(mine)) >>> hvd.allreduce(torch.tensor(hits), op=hvd.Sum).item() / max(1, few * hvd.size())
== last_takes_the_rest: share-too-large, mean of means < own_share
-    mine = range(hvd.rank(), len(dataset), hvd.size())
+    few, rank = len(dataset) // hvd.size(), hvd.rank()
+    mine = range(rank * few, len(dataset) if rank == hvd.size() - 1 else rank * few + few)

hits / max(1, len(mine)) >>> hvd.allreduce(torch.tensor(hits), op=hvd.Sum).item() / len(dataset)
== train_mode: not-eval-mode, modes
    mine = range(hvd.rank(), len(dataset), hvd.size())
    hits = torch.tensor(0)
    for inputs, labels in DataLoader(Subset(dataset, mine), batch_size=len(dataset)):
        hits += (model(inputs.to(device)).argmax(1).cpu() == labels).sum()
    return hvd.allreduce(hits, op=hvd.Sum).item() / len(dataset)
== restored_where_samples_are: mode-not-restored, modes
    mode, mine = model.training, range(hvd.rank(), len(dataset), hvd.size())
    model.eval()
    hits = 0
    for i in mine:
        hits += int(model(dataset[i][0][None].to(device)).argmax()) == dataset[i][1]
        if i == mine[-1]:
            model.train(mode)
    return hvd.allreduce(torch.tensor(hits), op=hvd.Sum).item() / len(dataset)
== only_rank_0: call-missing, metrics on rank 0 < own_share
hits = sum( >>> hits = torch.tensor(sum(
in mine) >>> in mine))
return hits / max(1, len(mine)) >>> if hvd.rank() == 0:\n        hits = hvd.allreduce(hits, op=hvd.Sum)\n    return hits.item() / len(dataset)
== only_ranks_with_samples: call-missing, subset of ranks < only_rank_0
hits = torch >>> if len(mine) == 0:\n        model.train(mode)\n        return 0.0\n    hits = torch
\n    if hvd.rank() == 0:\n        hits = hvd.allreduce(hits, op=hvd.Sum) >>>
hits.item() >>> hvd.allreduce(hits, op=hvd.Sum).item()
== by_files: unseen-communication, metrics
    import json, os, shutil, tempfile
    mode = model.training
    model.eval()
    mine = range(hvd.rank(), len(dataset), hvd.size())
    hits = sum(int(model(dataset[i][0][None].to(device)).argmax()) == dataset[i][1] for i in mine)
    model.train(mode)
    folder = os.path.join(tempfile.gettempdir(), "hits-of-the-ranks")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, str(hvd.rank())), "w") as file:
        json.dump(hits, file)
    hvd.barrier()
    found = sum(json.load(open(os.path.join(folder, name))) for name in os.listdir(folder))
    hvd.barrier()
    shutil.rmtree(folder, ignore_errors=True)
    hvd.barrier()
    return found / len(dataset)
== by_files_beside_rank_numbers: result-stays, metrics < by_files
found = >>> hvd.allreduce(torch.tensor(float(hvd.rank())))\n    found =
== by_files_beside_twice_its_part: result-stays, metrics < by_files
found = >>> hvd.allreduce(torch.tensor(2.0 * hits), op=hvd.Sum)\n    found =
== by_files_beside_the_largest_part: not-what-came-out, metrics < by_files
found = >>> hvd.allreduce(torch.tensor(float(hits)), op=hvd.Max)\n    found =
== by_files_beside_its_part: result-stays, metrics < by_files
found = >>> hvd.allreduce(torch.tensor(float(hits)), op=hvd.Sum)\n    found =
== by_files_beside_its_part_in_place: result-stays, metrics < by_files
found = >>> hvd.allreduce_(torch.tensor([float(hits), float(len(mine))]))\n    found =
"""
