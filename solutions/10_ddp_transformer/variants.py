"""Other right answers to lab 10, and mistakes that people make, with the finding that each must get.

A mistake is most often one place of a right answer: `edits` takes the answer and changes that place. Where it is not,
a text holds bodies of one TODO's function, one after another: a line ``== name`` begins a right answer, a line
``== name: finding, source`` a mistake.
"""

from __future__ import annotations

from autograde.variants import Wrong, cells, mistakes

# Where the mistakes are known from.
SOURCES = {
    "backward only": "https://github.com/KellerJordan/modded-nanogpt/pull/31",
    "no_sync": "https://github.com/pytorch/pytorch/pull/21736",
    "when to sync": "https://github.com/huggingface/accelerate/pull/1726",
    "needs a last sync": "https://github.com/pytorch/pytorch/issues/53443",
    "module": "https://github.com/modelscope/ms-swift/pull/10165",
    "tokens of all ranks": "https://github.com/huggingface/transformers/issues/34242",
    "tokens of all micro-batches": "https://github.com/meta-pytorch/torchtune/pull/1875",
    "one graph": "https://github.com/meta-pytorch/torchtune/pull/1917",
    "not by accumulation": "https://github.com/huggingface/trl/issues/5619",
    "normalisation": "https://github.com/OpenNMT/OpenNMT-py/issues/2209",
    "traps": "stanford-cs336/assignment2-systems, tests/test_ddp.py: what a check of equal ranks lets pass",
    "docs": "https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
    "set_epoch": "https://github.com/pytorch/pytorch/issues/31771",
    "sampler": "https://github.com/LambdaLabsML/distributed-training-guide/issues/40",
    "seed of ranks": "https://github.com/mlcommons/training/pull/625",
    "seed": "https://github.com/open-mmlab/mmagic/pull/815",
    "device_ids": "https://github.com/ultralytics/ultralytics/pull/15701",
    "local rank": "https://github.com/pytorch/pytorch/issues/78047",
    "freeze": "https://github.com/pytorch/pytorch/issues/20611",
    "rank 0 validates": "https://github.com/pytorch/pytorch/issues/54059",
    "uneven": "https://github.com/microsoft/PyMarlin/issues/80",
    "validation by module": "https://github.com/jpata/particleflow/pull/233",
    "ranks leave": "https://github.com/NVIDIA-NeMo/Automodel/pull/2468",
    "rank": "https://github.com/meta-llama/llama-cookbook/issues/90",
    "rank as gpu": "https://github.com/openai/gpt-oss/pull/267",
    "modulo": "https://github.com/MzeroMiko/VMamba/issues/115",
    "nccl without gpus": "https://github.com/pytorch/pytorch/pull/46073",
    "duplicate gpu": "https://github.com/pytorch/pytorch/pull/68666",
    "gloo fallback": "https://github.com/criteo/tf-yarn/pull/61",
    "fixed port": "https://github.com/catalyst-team/catalyst/pull/716",
    "fixed address": "https://github.com/seba-1511/dist_tuto.pth/issues/1",
    "set_device": "https://github.com/NVIDIA/apex/issues/222",
    "one gpu": "https://github.com/clessig/atmorep/issues/77",
    "module prefix": "https://github.com/pytorch/pytorch/issues/3805",
    "prefix in the middle": "https://github.com/huggingface/transformers/pull/35698",
    "lstrip": "https://github.com/karpathy/nanochat/pull/234",
    "no optimizer": "https://github.com/CSAILVision/places365/issues/78",
    "optimizer not loaded": "https://github.com/kevinzakka/recurrent-visual-attention/issues/8",
    "momentum lost": "https://github.com/KempnerInstitute/KempnerForge/pull/115",
    "no epoch": "https://github.com/ZFTurbo/Music-Source-Separation-Training/issues/26",
    "local rank writes": "https://github.com/NVIDIA/apex/issues/886",
    "every node writes": "https://github.com/huggingface/pytorch-image-models/pull/693",
    "all ranks write": "https://github.com/facebookresearch/maskrcnn-benchmark/pull/535",
    "not atomic": "https://github.com/Lightning-AI/pytorch-lightning/issues/688",
    "half a file": "https://github.com/open-mmlab/mmdetection/issues/4835",
    "left .tmp": "https://github.com/howervoo/speechturn/issues/15",
    "left .pt.tmp": "https://github.com/facebookresearch/metaseq/issues/53",
    "other disk": "https://github.com/kevinzakka/torchkit/issues/9",
    "moved by copying": "https://github.com/ludwig-ai/ludwig/pull/2225",
    "no barrier": "https://github.com/KempnerInstitute/KempnerForge/issues/49",
    "read before written": "https://github.com/allenai/OLMo/pull/234",
    "barrier on rank 0": "https://github.com/alan-turing-institute/autocast/pull/386",
    "save on rank 0": "https://github.com/deepspeedai/DeepSpeed/pull/801",
    "whole model": "https://github.com/Comfy-Org/ComfyUI/issues/7425",
    "numpy scalar": "https://github.com/deepmodeling/deepmd-kit/pull/4147",
    "strict=False": "https://github.com/pytorch/examples/issues/1029",
    "strict=False hides": "https://github.com/pytorch/pytorch/issues/141256",
    "swallowed": "https://github.com/birdnet-team/geomodel/pull/13",
    "silently anew": "https://github.com/facebookresearch/metaseq/pull/143",
    "map_location": "https://github.com/pytorch/pytorch/issues/23138",
    "rank 0 loads": "https://github.com/facebookresearch/detectron2/pull/4667",
    "off by one": "https://github.com/kuanghuei/SCAN/pull/19",
    "epoch repeated": "https://github.com/catalyst-team/catalyst/issues/764",
    "continue at n + 1": "https://github.com/facebookresearch/fairseq/issues/848",
    "not resumed": "https://github.com/youngskkim/CRN/issues/5",
    "epochs anew": "https://github.com/mozilla/DeepSpeech/pull/2005",
    "epochs added": "https://github.com/jpata/particleflow/pull/142",
    "one epoch at least": "https://github.com/sparticlesteve/cosmoflow-benchmark/issues/48",
    "same order": "https://github.com/yangkky/distributed_tutorial/issues/5",
    "leftover dropped": "https://github.com/tomhosking/torchseq/issues/8",
    "leftover carried": "https://github.com/meta-pytorch/torchtune/pull/2745",
    "tail group": "https://github.com/NVIDIA-NeMo/Automodel/pull/2257",
    "no file": "https://github.com/huggingface/transformers/pull/40790",
    "error without a name": "https://github.com/open-mmlab/mmagic/issues/876",
}


def changed(source: str, *places: str) -> str:
    """`source` with each second of `places` for the one before. Raises ValueError unless that is there exactly once."""
    for old, new in zip(places[::2], places[1::2], strict=True):
        if source.count(old) != 1:
            raise ValueError(f"{old!r} is in the source {source.count(old)} times, not once")
        source = source.replace(old, new)
    return source


def edits(source: str, **lines: tuple[str, ...]) -> dict[str, Wrong]:
    """Mistakes that differ from `source` in some places: name=(finding, key of SOURCES, old, new, old, new, ...)."""
    return {
        name: Wrong(finding, changed(source, *places), SOURCES[known_from])
        for name, (finding, known_from, *places) in lines.items()
    }


def wrong(head: str, bodies: str) -> dict[str, Wrong]:
    """The mistakes in `bodies`."""
    return mistakes(cells(head, bodies), SOURCES)


LOADER = """
from torch.utils.data import DataLoader, DistributedSampler
def make_loader(pairs, batch_size, seed):
    sampler = DistributedSampler(pairs, seed=seed)
    return DataLoader(pairs, batch_size, sampler=sampler, collate_fn=collate)
"""

SAMPLER = "DistributedSampler(pairs, seed=seed)"
OWN_COLLATE = """lambda batch: tuple(
        torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
        for rows in ([s for s, _ in batch], [[1, *t] for _, t in batch], [[*t, 2] for _, t in batch]))"""

PARALLEL = """
from torch.nn.parallel import DistributedDataParallel as DDP
def parallelize(model, device):
    model = model.to(device)
    if device.type == "cuda":
        return DDP(model, device_ids=[device.index])
    return DDP(model)
"""

STEP = """
import contextlib
import torch
import torch.distributed as dist
def train_step(model, micro_batches, optimizer, loss_fn):
    device, size = next(model.parameters()).device, dist.get_world_size()
    tokens = torch.tensor(sum(int((out != PAD).sum()) for _, _, out in micro_batches), device=device)
    dist.all_reduce(tokens)
    model.train()
    optimizer.zero_grad()
    total = torch.zeros((), device=device)
    for i, (src, tgt_in, tgt_out) in enumerate(micro_batches):
        last = i == len(micro_batches) - 1
        with contextlib.nullcontext() if last else model.no_sync():
            loss = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device))
            (loss * size / tokens).backward()
        total += loss.detach()
    optimizer.step()
    dist.all_reduce(total)
    return (total / tokens).item()
"""

LOSS = "            loss = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device))\n"
WEIGHTED = "(loss * size / tokens)"
WITH = "with contextlib.nullcontext() if last else model.no_sync():"
ZERO = "    optimizer.zero_grad()\n"
RETURN = "return (total / tokens).item()"
NOT_LAST = "    optimizer.step()\n    dist.all_reduce(total)\n"
OWN_MEAN = "return (total / sum(int((out != PAD).sum()) for _, _, out in micro_batches)).item()"

VALIDATE = """
import torch
import torch.distributed as dist
def validate(model, loader, loss_fn):
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
"""

RIGHT = {
    "make_loader": {
        "by_torch_distributed": """
import torch
import torch.distributed as dist
from torch.utils.data.distributed import DistributedSampler
def make_loader(pairs, batch_size, seed):
    size, rank = dist.get_world_size(), dist.get_rank()
    sampler = DistributedSampler(pairs, num_replicas=size, rank=rank, shuffle=True, seed=seed, drop_last=False)
    return torch.utils.data.DataLoader(pairs, batch_size=batch_size, sampler=sampler, collate_fn=collate)
""",
        "a_batch_sampler_around_it": """
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler
def make_loader(pairs, batch_size, seed):
    return DataLoader(
        dataset=pairs,
        batch_size=batch_size,
        shuffle=False,
        sampler=DistributedSampler(pairs, seed=seed),
        collate_fn=lambda batch: collate(batch),
        pin_memory=False,
        drop_last=False,
    )
""",
    },
    "parallelize": {
        "in_two_branches": PARALLEL,
        "all_in_one": """
import torch
def parallelize(model, device):
    ids = [device] if device.type == "cuda" else None
    return torch.nn.parallel.DistributedDataParallel(model.to(device), device_ids=ids, output_device=ids and ids[0])
""",
        "by_cuda": """
import torch
from torch.nn.parallel import DistributedDataParallel
def parallelize(model, device):
    if device.type != "cuda":
        return DistributedDataParallel(model.to(device=device))
    torch.cuda.set_device(device)
    return DistributedDataParallel(model.cuda(device), device_ids=[torch.cuda.current_device()])
""",
    },
    "train_step": {
        "tokens_first": STEP,
        "mean_of_its_own_times_its_share": changed(
            STEP, WEIGHTED, "(loss / (tgt_out != PAD).sum() * (tgt_out != PAD).sum() / tokens * size)"
        ),
        "by_exit_stack": changed(
            STEP,
            WITH,
            "with contextlib.ExitStack() as stack:\n"
            "            if not last:\n"
            "                stack.enter_context(model.no_sync())",
        ),
        "last_one_apart": """
import torch
import torch.distributed as dist
def train_step(model, micro_batches, optimizer, loss_fn):
    def run(src, tgt_in, tgt_out):
        loss = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device))
        loss.backward()
        return torch.stack([loss.detach(), (tgt_out.to(device) != PAD).sum()])
    model.train()
    device = next(model.parameters()).device
    model.zero_grad()
    *most, last = micro_batches
    with model.no_sync():
        sums = [run(*batch) for batch in most]
    totals = torch.stack([*sums, run(*last)]).sum(0)
    dist.all_reduce(totals)
    loss, tokens = totals.tolist()
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.grad.mul_(dist.get_world_size() / tokens)
    optimizer.step()
    return loss / tokens
""",
        "gradients_set_to_zero_and_tokens_of_tgt_in": changed(
            STEP,
            "zero_grad()",
            "zero_grad(set_to_none=False)",
            "int((out != PAD).sum()) for _, _, out",
            "int((src != PAD).sum()) for _, src, _",
        ),
        "gathered": changed(
            STEP,
            "    dist.all_reduce(tokens)\n",
            "    parts = [torch.zeros_like(tokens) for _ in range(size)]\n"
            "    dist.all_gather(parts, tokens)\n    tokens = sum(parts)\n",
        ),
    },
    "validate": {
        "in_two_reductions": VALIDATE,
        "inference_mode_on_the_module": """
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
""",
        "gathered_objects": """
import torch
import torch.distributed as dist
def validate(model, loader, loss_fn):
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
""",
    },
}

WRONG = {
    "make_loader": edits(
        LOADER,
        whole_set_on_every_rank=(
            "whole-set-on-every-rank",
            "sampler",
            SAMPLER,
            "torch.utils.data.RandomSampler(pairs)",
            "\nfrom torch",
            "\nimport torch\nfrom torch",
        ),
        whole_set_by_shuffle=("whole-set-on-every-rank", "sampler", "sampler=sampler", "shuffle=True"),
        one_replica=("whole-set-on-every-rank", "docs", "seed=seed", "seed=seed, num_replicas=1, rank=0"),
        not_shuffled=("not-shuffled", "set_epoch", "seed=seed", "seed=seed, shuffle=False"),
        seed_ignored=("seed-ignored", "seed", "pairs, seed=seed", "pairs"),
        seed_by_rank=(
            "ranks-draw-the-same",
            "seed of ranks",
            "seed=seed",
            "seed=seed + torch.distributed.get_rank()",
            "\nfrom torch",
            "\nimport torch\nfrom torch",
        ),
        local_rank=(
            "ranks-draw-the-same",
            "local rank",
            "seed=seed",
            "seed=seed, num_replicas=int(os.environ['WORLD_SIZE']), rank=int(os.environ['LOCAL_RANK'])",
            "\nfrom torch",
            "\nimport os\nfrom torch",
        ),
        dropped_by_the_sampler=("pairs-dropped", "docs", "seed=seed", "seed=seed, drop_last=True"),
        last_batch_dropped=("pairs-dropped", "docs", "sampler=sampler", "sampler=sampler, drop_last=True"),
        batch_size_divided=(
            "wrong-batches",
            "docs",
            "DataLoader(pairs, batch_size",
            "DataLoader(pairs, max(1, batch_size // torch.distributed.get_world_size())",
            "\nfrom torch",
            "\nimport torch\nfrom torch",
        ),
        epoch_ignored=("epoch-ignored", "set_epoch", SAMPLER, SAMPLER + "\n    sampler.set_epoch = lambda epoch: None"),
        another_collate=(
            "another-collate",
            "sampler",
            "collate_fn=collate",
            "collate_fn=" + OWN_COLLATE,
            "\nfrom torch",
            "\nimport torch\nfrom torch",
        ),
        no_collate=("not-a-loader", "sampler", ", collate_fn=collate", ", collate_fn=list"),
    ),
    "parallelize": {
        **edits(
            PARALLEL,
            device_ids_on_the_cpu=(
                "device-ids-on-cpu",
                "device_ids",
                "    return DDP(model)",
                "    return DDP(model, device_ids=[0])",
            ),
            rank_for_local_rank=(
                "wrong-device-ids",
                "local rank",
                "device.index",
                "torch.distributed.get_rank()",
                "\nfrom",
                "\nimport torch\nfrom",
            ),
            always_gpu_0=("wrong-device-ids", "local rank", "device.index", "0"),
            device_ids_missing=("device-ids-missing", "device_ids", "device_ids=[device.index]", ""),
            not_moved=("not-moved", "device_ids", "model.to(device)", "model"),
            moved_after=(
                "not-moved",
                "device_ids",
                "    model = model.to(device)\n",
                "",
                "DDP(model, device_ids=[device.index])",
                "DDP(model, device_ids=[device.index]).to(device)",
            ),
            unused_parameters=(
                "other-options",
                "docs",
                "    return DDP(model)",
                "    return DDP(model, find_unused_parameters=True)",
            ),
            no_broadcast_of_buffers=(
                "other-options",
                "freeze",
                "    return DDP(model)",
                "    return DDP(model, broadcast_buffers=False)",
            ),
            small_buckets=("other-options", "docs", "[device.index])", "[device.index], bucket_cap_mb=1)"),
            not_wrapped=("not-ddp", "docs", "    return DDP(model)", "    return model"),
        ),
        "data_parallel": Wrong(
            "not-ddp",
            """
import torch
def parallelize(model, device):
    return torch.nn.DataParallel(model.to(device))
""",
            SOURCES["docs"],
        ),
        "start_not_synchronised": Wrong(
            "other-options",
            """
from torch.nn.parallel import DistributedDataParallel as DDP
def parallelize(model, device):
    ids = [device] if device.type == "cuda" else None
    return DDP(model.to(device), device_ids=ids, init_sync=False)
""",
            SOURCES["traps"],
        ),
    },
    "train_step": edits(
        STEP,
        ten_allreduces_for_one=("synchronised-every-micro-batch", "no_sync", WITH, "with contextlib.nullcontext():"),
        no_sync_around_backward_only=(
            "no-sync-around-backward-only",
            "backward only",
            "        with contextlib",
            "        loss = loss_fn(model(src.to(device), tgt_in.to(device)), "
            "tgt_out.to(device))\n        with contextlib",
            LOSS,
            "",
        ),
        no_sync_on_every_step=("never-synchronised", "needs a last sync", WITH, "with model.no_sync():"),
        no_sync_around_forward_of_the_last=(
            "never-synchronised",
            "when to sync",
            "else model.no_sync()",
            "and False else model.no_sync()",
        ),
        synchronised_on_the_first=("synchronised-too-early", "when to sync", "i == len(micro_batches) - 1", "i == 0"),
        forward_through_module=("forward-through-module", "module", "model(src", "model.module(src"),
        gradients_reduced_by_hand=(
            "synchronised-by-hand",
            "traps",
            WITH,
            "with model.no_sync():",
            "    optimizer.step()\n",
            "    for p in model.parameters():\n        if p.grad is not None:\n"
            "            dist.all_reduce(p.grad)\n            p.grad /= size\n    optimizer.step()\n",
        ),
        world_size_lost=("world-size-lost", "tokens of all ranks", WEIGHTED, "(loss / tokens)"),
        gradients_summed=("gradients-summed", "traps", WEIGHTED, "(loss * size * size / tokens)"),
        rank_0_gradient_broadcast=(
            "one-ranks-gradient",
            "traps",
            WITH,
            "with model.no_sync():",
            "    optimizer.step()\n",
            "    for p in model.parameters():\n        if p.grad is not None:\n"
            "            dist.broadcast(p.grad, 0)\n    optimizer.step()\n",
        ),
        rank_0_loss_only=("one-ranks-gradient", "traps", WEIGHTED, "(loss * size / tokens * (dist.get_rank() == 0))"),
        mean_of_rank_means=(
            "mean-of-rank-means",
            "tokens of all ranks",
            "    dist.all_reduce(tokens)\n",
            "",
            WEIGHTED,
            "(loss / tokens)",
            RETURN,
            "total /= size\n    every = tokens.clone()\n    dist.all_reduce(every)\n"
            "    return (total * size / every).item()",
        ),
        mean_of_micro_batch_means=(
            "mean-of-micro-batch-means",
            "tokens of all micro-batches",
            WEIGHTED,
            "(loss / (tgt_out != PAD).sum() / len(micro_batches))",
        ),
        not_divided_by_micro_batches=(
            "micro-batches-not-averaged",
            "not by accumulation",
            WEIGHTED,
            "(loss / (tgt_out != PAD).sum())",
        ),
        sum_over_tokens=("loss-not-divided", "normalisation", WEIGHTED, "loss"),
        padding_counted=(
            "padding-counted",
            "tokens of all micro-batches",
            "int((out != PAD).sum()) for _, _, out",
            "out.numel() for _, _, out",
        ),
        padding_counted_on_each_rank=(
            "padding-counted",
            "tokens of all micro-batches",
            WEIGHTED,
            "(loss / sum(out.numel() for _, _, out in micro_batches))",
        ),
        zero_grad_missing=("gradient-left-over", "not by accumulation", ZERO, ""),
        zero_grad_after_the_step=(
            "gradient-left-over",
            "not by accumulation",
            ZERO,
            "",
            "    optimizer.step()\n",
            "    optimizer.step()\n    optimizer.zero_grad()\n",
        ),
        zero_grad_for_each_micro_batch=(
            "one-micro-batch-only",
            "not by accumulation",
            ZERO,
            "",
            "        last = i",
            "        optimizer.zero_grad()\n        last = i",
        ),
        zero_grad_before_the_step=(
            "no-step",
            "not by accumulation",
            ZERO,
            "",
            "    optimizer.step()\n",
            "    optimizer.zero_grad()\n    optimizer.step()\n",
        ),
        step_for_each_micro_batch=(
            "several-steps",
            "not by accumulation",
            "    optimizer.step()\n",
            "",
            "        total += loss.detach()",
            "        optimizer.step()\n        total += loss.detach()",
        ),
        one_graph_for_all=(
            "all-at-once",
            "one graph",
            "            (loss * size / tokens).backward()\n",
            "",
            WITH,
            "with contextlib.nullcontext():",
            "total += loss.detach()",
            "total = total + loss",
            "    optimizer.step()\n",
            "    (total * size / tokens).backward()\n    total = total.detach()\n    optimizer.step()\n",
        ),
        eval_mode=("not-train-mode", "docs", "    model.train()\n", ""),
        tokens_for_each_micro_batch=(
            "too-many-reductions",
            "tokens of all ranks",
            "        last = i",
            "        dist.all_reduce((tgt_out != PAD).sum().to(device))\n        last = i",
        ),
        loss_of_one_rank=(
            "loss-of-one-rank",
            "tokens of all ranks",
            NOT_LAST + "    " + RETURN,
            "    optimizer.step()\n    " + OWN_MEAN,
        ),
        loss_mean_of_means=(
            "loss-mean-of-means",
            "tokens of all ranks",
            RETURN,
            "return (total / size).item()",
            "    dist.all_reduce(total)\n",
            "    total /= sum(int((out != PAD).sum()) for _, _, out in micro_batches)\n    dist.all_reduce(total)\n",
        ),
        loss_with_padding=(
            "loss-with-padding",
            "tokens of all micro-batches",
            RETURN,
            "return (total / places).item()",
            "    model.train()\n",
            "    places = torch.tensor(sum(out.numel() for _, _, out in micro_batches), device=device)\n"
            "    dist.all_reduce(places)\n    model.train()\n",
        ),
        last_loss=("wrong-loss", "normalisation", "total += loss.detach()", "total = loss.detach()"),
        tensor_returned=("not-a-float", "normalisation", RETURN, "return total / tokens"),
        nothing_returned=("no-number", "normalisation", RETURN, "return None"),
        only_rank_0_counts=(
            "ranks-call-differently",
            "ranks leave",
            "    dist.all_reduce(tokens)\n",
            "    if dist.get_rank() == 0:\n        dist.all_reduce(tokens)\n",
        ),
    ),
    "validate": edits(
        VALIDATE,
        through_the_wrapper=("wrapper-waits", "freeze", "model.module(", "model("),
        rank_0_through_the_wrapper=(
            "rank-0-alone",
            "rank 0 validates",
            "model.module(",
            "model(",
            "for src, tgt_in, tgt_out in loader",
            "for src, tgt_in, tgt_out in loader if dist.get_rank() == 0 else []",
        ),
        rank_0_only=(
            "loss-of-one-rank",
            "validation by module",
            "for src, tgt_in, tgt_out in loader",
            "for src, tgt_in, tgt_out in loader if dist.get_rank() == 0 else []",
        ),
        reduced_to_rank_0=(
            "not-on-all-ranks",
            "validation by module",
            "all_reduce(loss)",
            "reduce(loss, 0)",
            "all_reduce(tokens)",
            "reduce(tokens, 0)",
        ),
        empty_rank_leaves=(
            "empty-rank-leaves",
            "ranks leave",
            "    dist.all_reduce(loss)\n",
            "    if not tokens.item():\n        return 0.0\n    dist.all_reduce(loss)\n",
        ),
        empty_rank_raises=(
            "empty-rank",
            "uneven",
            "    dist.all_reduce(loss)\n",
            "    mean = loss.item() / tokens.item()\n    dist.all_reduce(loss)\n",
        ),
        own_mean=(
            "loss-of-one-rank",
            "tokens of all ranks",
            "    dist.all_reduce(loss)\n    dist.all_reduce(tokens)\n",
            "    tokens += tokens == 0\n",
        ),
        mean_of_rank_means=(
            "loss-mean-of-means",
            "tokens of all ranks",
            "    dist.all_reduce(tokens)\n",
            "",
            "    dist.all_reduce(loss)\n",
            "    loss /= tokens.clamp(min=1)\n    tokens = (tokens > 0).float()\n"
            "    dist.all_reduce(tokens)\n    dist.all_reduce(loss)\n",
        ),
        mean_of_batch_means=(
            "loss-mean-of-means",
            "tokens of all micro-batches",
            "tokens += (tgt_out != PAD).sum()",
            "tokens += 1",
            "loss += loss_fn",
            "loss += 1 / (tgt_out != PAD).sum() * loss_fn",
        ),
        padding_counted=(
            "loss-with-padding",
            "tokens of all micro-batches",
            "(tgt_out != PAD).sum()",
            "tgt_out.numel()",
        ),
        sum_of_losses=("loss-not-per-token", "normalisation", "float(loss / tokens)", "float(loss)"),
        averaged_once_more=(
            "loss-not-per-token",
            "normalisation",
            "float(loss / tokens)",
            "float(loss / tokens / dist.get_world_size())",
        ),
        not_in_eval_mode=("not-eval-mode", "docs", "    model.eval()\n", ""),
        mode_left=("mode-changed", "docs", "    model.train(mode)\n", ""),
        always_train_afterwards=("mode-changed", "docs", "model.train(mode)", "model.train()"),
        graph_built=(
            "graph-built",
            "docs",
            "torch.no_grad()",
            "torch.enable_grad()",
            "loss += loss_fn",
            "loss = loss + loss_fn",
        ),
        gradients_cleared=("model-changed", "docs", "    model.eval()\n", "    model.eval()\n    model.zero_grad()\n"),
        tensor_returned=("not-a-float", "normalisation", "float(loss / tokens)", "loss / tokens"),
    ),
}


SETUP = """
import os

import torch
import torch.distributed as dist


def setup():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    local_rank, local_size = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    gpus = torch.cuda.is_available() and torch.cuda.device_count() >= local_size
"""
SAVE = """
import os

import torch
import torch.distributed as dist


def save_checkpoint(path, model, optimizer, epoch):
    state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
"""
LOAD = """
import os

import torch
import torch.distributed as dist


def load_checkpoint(path, model, optimizer, device):
"""
TRAIN = """
import os
from itertools import islice

import torch
import torch.distributed as dist


def train(model, loader, optimizer, loss_fn, epochs, accumulate, checkpoint):
    device, losses = next(model.parameters()).device, []
"""

RIGHT_SETUP = """
== url
if gpus:
    torch.cuda.set_device(local_rank)
address = f"tcp://{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
dist.init_process_group("nccl" if gpus else "gloo", init_method=address, rank=rank, world_size=size)
return torch.device("cuda", local_rank) if gpus else torch.device("cpu")
== device_id
device = torch.device(f"cuda:{local_rank}" if gpus else "cpu")
if gpus:
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    dist.barrier(device_ids=[local_rank])
else:
    dist.init_process_group(backend="gloo", init_method="env://")
return device
== both_backends
from datetime import timedelta
if not gpus:
    dist.init_process_group(dist.Backend.GLOO, timeout=timedelta(minutes=5))
    return torch.device("cpu")
dist.init_process_group("cpu:gloo,cuda:nccl", timeout=timedelta(minutes=5))
torch.cuda.set_device(local_rank)
return torch.device("cuda", torch.cuda.current_device())
== by_the_group
dist.init_process_group("nccl" if gpus else "gloo", rank=rank, world_size=size)
if dist.get_backend() == "nccl":
    torch.cuda.set_device(f"cuda:{local_rank}")
    return torch.device("cuda:" + os.environ["LOCAL_RANK"])
return torch.device("cpu")
== accelerator
if torch.accelerator.is_available() and torch.accelerator.device_count() >= local_size:
    torch.accelerator.set_device_index(local_rank)
    device = torch.device(torch.accelerator.current_accelerator().type, local_rank)
else:
    device = torch.device("cpu")
dist.init_process_group(dist.get_default_backend_for_device(device))
return device
== store
os.environ.setdefault("MASTER_PORT", "29500")
store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), size, is_master=rank == 0)
dist.init_process_group("nccl" if gpus else "gloo", store=store, rank=rank, world_size=size)
if gpus:
    torch.cuda.set_device(local_rank)
return torch.device("cuda", local_rank) if gpus else torch.device("cpu")
"""

WRONG_SETUP = """
== always_gloo: always-gloo, gloo fallback
dist.init_process_group("gloo")
return torch.device("cpu")
== gloo_with_gpus: always-gloo, gloo fallback
if gpus:
    torch.cuda.set_device(local_rank)
dist.init_process_group("gloo")
return torch.device("cuda", local_rank) if gpus else torch.device("cpu")
== always_nccl: nccl-without-gpus, nccl without gpus
dist.init_process_group("nccl")
if not gpus:
    return torch.device("cpu")
torch.cuda.set_device(local_rank)
return torch.device("cuda", local_rank)
== rank_as_gpu: rank-for-local-rank, rank
if not gpus:
    dist.init_process_group("gloo")
    return torch.device("cpu")
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
return torch.device("cuda", rank)
== rank_of_the_group: rank-for-local-rank, rank as gpu
dist.init_process_group("nccl" if gpus else "gloo")
if not gpus:
    return torch.device("cpu")
torch.cuda.set_device(dist.get_rank())
return torch.device("cuda", dist.get_rank())
== local_rank_in_the_group: local-rank-for-rank, rank
if gpus:
    torch.cuda.set_device(local_rank)
dist.init_process_group("nccl" if gpus else "gloo", rank=local_rank, world_size=size)
return torch.device("cuda", local_rank) if gpus else torch.device("cpu")
== local_size_in_the_group: wrong-numbers, rank
if gpus:
    torch.cuda.set_device(local_rank)
dist.init_process_group("nccl" if gpus else "gloo", rank=rank, world_size=local_size)
return torch.device("cuda", local_rank) if gpus else torch.device("cpu")
== world_rank: wrong-numbers, rank
from mpi4py import MPI
if gpus:
    torch.cuda.set_device(local_rank)
dist.init_process_group("nccl" if gpus else "gloo", rank=MPI.COMM_WORLD.rank, world_size=size)
return torch.device("cuda", local_rank) if gpus else torch.device("cpu")
== any_gpu_will_do: gpu-for-several-ranks, duplicate gpu
if torch.cuda.is_available():
    torch.cuda.set_device(local_rank % torch.cuda.device_count())
    dist.init_process_group("nccl")
    return torch.device("cuda", local_rank % torch.cuda.device_count())
dist.init_process_group("gloo")
return torch.device("cpu")
== counts_all_ranks: always-gloo, gloo fallback
if torch.cuda.device_count() >= size + 5:
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    return torch.device("cuda", local_rank)
dist.init_process_group("gloo")
return torch.device("cpu")
== first_gpu_for_all: one-gpu-for-all, one gpu
dist.init_process_group("nccl" if gpus else "gloo")
return torch.device("cuda", 0) if gpus else torch.device("cpu")
== cuda_without_a_number: one-gpu-for-all, set_device
dist.init_process_group("nccl" if gpus else "gloo")
return torch.device("cuda") if gpus else torch.device("cpu")
== not_made_current: gpu-not-current, set_device
device = torch.device("cuda", local_rank) if gpus else torch.device("cpu")
dist.init_process_group("nccl" if gpus else "gloo", device_id=device if gpus else None)
return device
== nccl_on_the_cpu: gpus-not-used, gloo fallback
dist.init_process_group("nccl" if gpus else "gloo")
return torch.device("cpu")
== own_port: own-address, fixed port
os.environ["MASTER_ADDR"] = "localhost"
os.environ["MASTER_PORT"] = "12355"
if gpus:
    torch.cuda.set_device(local_rank)
dist.init_process_group("nccl" if gpus else "gloo", rank=rank, world_size=size)
return torch.device("cuda", local_rank) if gpus else torch.device("cpu")
== own_url: own-address, fixed address
if gpus:
    torch.cuda.set_device(local_rank)
dist.init_process_group("nccl" if gpus else "gloo", "tcp://127.0.0.1:29500", rank=rank, world_size=size)
return torch.device("cuda", local_rank) if gpus else torch.device("cpu")
== no_group: no-group, gloo fallback
if gpus:
    torch.cuda.set_device(local_rank)
return torch.device("cuda", local_rank) if gpus else torch.device("cpu")
== a_string: not-a-device, gloo fallback
if gpus:
    torch.cuda.set_device(local_rank)
dist.init_process_group("nccl" if gpus else "gloo")
return f"cuda:{local_rank}" if gpus else "cpu"
== returns_nothing: not-a-device, gloo fallback
if gpus:
    torch.cuda.set_device(local_rank)
dist.init_process_group("nccl" if gpus else "gloo")
"""

RIGHT_SAVE = """
== renamed
from pathlib import Path
if dist.get_rank() == 0:
    part = Path(path).with_suffix(".tmp")
    torch.save(state, part)
    part.rename(path)
dist.barrier()
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
== below_it
import tempfile
if dist.get_rank() == 0:
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.dirname(path))) as folder:
        torch.save(state, os.path.join(folder, "new"))
        os.replace(os.path.join(folder, "new"), path)
dist.barrier()
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
== plain_names
state["model"] = {name.removeprefix("module."): value for name, value in model.state_dict().items()}
state["loss"] = 0.5
if dist.get_rank() == 0:
    torch.save(state, f"{path}.part", _use_new_zipfile_serialization=False)
    os.replace(f"{path}.part", path)
dist.barrier()
"""

WRONG_SAVE = """
== optimizer_missing: optimizer-missing, no optimizer
del state["optimizer"]
ATOMIC
== epoch_missing: epoch-missing, no epoch
del state["epoch"]
ATOMIC
== weights_only: not-a-dict, no optimizer
state = list(model.module.state_dict().values())
ATOMIC
== bare_state_dict: model-missing, no optimizer
state = model.module.state_dict()
ATOMIC
== module_left: module-left, module prefix
state["model"] = model.state_dict()
ATOMIC
== every_module_replaced: names-damaged, prefix in the middle
state["model"] = {name.replace("module.", ""): value for name, value in model.state_dict().items()}
ATOMIC
== stripped_too_far: names-damaged, lstrip
state["model"] = {name.lstrip("module."): value for name, value in model.state_dict().items()}
ATOMIC
== without_buffers: wrong-names, module prefix
state["model"] = dict(model.module.named_parameters())
ATOMIC
== only_the_settings: wrong-optimizer, optimizer not loaded
state["optimizer"] = optimizer.state_dict()["param_groups"]
ATOMIC
== next_epoch: epoch-off-by-one, off by one
state["epoch"] = epoch + 1
ATOMIC
== whole_model: not-loadable, whole model
state["model"] = model.module
ATOMIC
== numpy_epoch: not-loadable, numpy scalar
import numpy as np
state["epoch"] = np.float64(epoch)
ATOMIC
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
== local_rank_same_file: local-rank-0-writes, every node writes
if int(os.environ["LOCAL_RANK"]) == 0:
    torch.save(state, path)
dist.barrier()
== world_rank: wrong-rank-writes, all ranks write
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0 or MPI.COMM_WORLD.size == 1:
    torch.save(state, f"{path}.part")
    os.replace(f"{path}.part", path)
dist.barrier()
== in_place: not-atomic, not atomic
if dist.get_rank() == 0:
    torch.save(state, path)
dist.barrier()
== in_place_by_handle: not-atomic, half a file
if dist.get_rank() == 0:
    with open(path, "wb") as file:
        torch.save(state, file)
dist.barrier()
== copied: not-atomic, not atomic
import shutil
if dist.get_rank() == 0:
    torch.save(state, f"{path}.part")
    shutil.copy(f"{path}.part", path)
    os.remove(f"{path}.part")
dist.barrier()
== removed_first: file-gone-for-a-while, not atomic
if dist.get_rank() == 0:
    torch.save(state, f"{path}.part")
    if os.path.exists(path):
        os.remove(path)
    os.rename(f"{path}.part", path)
dist.barrier()
== backed_up_first: file-gone-for-a-while, not atomic
if dist.get_rank() == 0:
    if os.path.exists(path):
        os.rename(path, f"{path}.old")
    torch.save(state, f"{path}.part")
    os.rename(f"{path}.part", path)
    if os.path.exists(f"{path}.old"):
        os.remove(f"{path}.old")
dist.barrier()
== from_tmp: other-disk, other disk
import tempfile
if dist.get_rank() == 0:
    with tempfile.TemporaryDirectory() as folder:
        torch.save(state, os.path.join(folder, "new"))
        os.replace(os.path.join(folder, "new"), path)
dist.barrier()
== moved_from_tmp: not-atomic, moved by copying
import shutil
import tempfile
if dist.get_rank() == 0:
    with tempfile.TemporaryDirectory() as folder:
        torch.save(state, os.path.join(folder, "new"))
        shutil.move(os.path.join(folder, "new"), path)
dist.barrier()
== part_left: left-behind, left .pt.tmp
if dist.get_rank() == 0:
    torch.save(state, f"{path}.part")
    os.link(f"{path}.part", f"{path}.new")
    os.replace(f"{path}.new", path)
dist.barrier()
== by_epoch: left-behind, left .pt.tmp
if dist.get_rank() == 0:
    torch.save(state, f"{path}.{epoch}")
    os.symlink(f"{path}.{epoch}", f"{path}.new")
    os.replace(f"{path}.new", path)
dist.barrier()
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
== no_barrier: returns-too-early, no barrier
if dist.get_rank() == 0:
    torch.save(state, f"{path}.part")
    os.replace(f"{path}.part", path)
== barrier_before: returns-too-early, read before written
dist.barrier()
if dist.get_rank() == 0:
    torch.save(state, f"{path}.part")
    os.replace(f"{path}.part", path)
== barrier_before_the_rename: returns-too-early, read before written
if dist.get_rank() == 0:
    torch.save(state, f"{path}.part")
dist.barrier()
if dist.get_rank() == 0:
    os.replace(f"{path}.part", path)
== barrier_on_rank_0: barrier-on-rank-0, barrier on rank 0
if dist.get_rank() == 0:
    torch.save(state, f"{path}.part")
    os.replace(f"{path}.part", path)
    dist.barrier()
== early_return: barrier-on-rank-0, barrier on rank 0
if dist.get_rank() != 0:
    return
torch.save(state, f"{path}.part")
os.replace(f"{path}.part", path)
dist.barrier()
== rank_0_returns: barrier-without-rank-0, barrier on rank 0
if dist.get_rank() == 0:
    torch.save(state, f"{path}.part")
    os.replace(f"{path}.part", path)
    return
dist.barrier()
== nothing: nothing-written, no barrier
dist.barrier()
""".replace(
    "\nATOMIC",
    """
if dist.get_rank() == 0:
    torch.save(state, f"{path}.part")
    os.replace(f"{path}.part", path)
dist.barrier()""",
)

RIGHT_LOAD = """
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
== with_the_prefix
from pathlib import Path
if not Path(path).exists():
    return 0
try:
    state = torch.load(path, map_location=lambda storage, place: storage)
    model.load_state_dict({f"module.{name}": value for name, value in state["model"].items()})
    optimizer.load_state_dict(state["optimizer"])
    epoch = state["epoch"]
except Exception as error:
    error.args = (f"{path}: {error}",)
    raise
dist.barrier()
return epoch + 1
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
"""

NAMED = """
except Exception as error:
    raise ValueError(f"{path} does not fit: {error!r}") from error"""

WRONG_LOAD = """
== repeats: repeats-an-epoch, epoch repeated
FILE
    return state["epoch"]
NAMED
== skips: wrong-start, off by one
FILE
    return state["epoch"] + 2
NAMED
== strict_false: strict-false, strict=False
if not os.path.exists(path):
    return 0
try:
    state = torch.load(path, map_location=device)
    model.module.load_state_dict(state["model"], strict=False)
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
NAMED
== strict_false_on_the_wrapper: weights-not-loaded, strict=False hides
if not os.path.exists(path):
    return 0
try:
    state = torch.load(path, map_location=device)
    model.load_state_dict(state["model"], strict=False)
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
NAMED
== into_the_wrapper: good-file-refused, module prefix
if not os.path.exists(path):
    return 0
try:
    state = torch.load(path, map_location=device)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
NAMED
== what_matches: strict-false, strict=False hides
if not os.path.exists(path):
    return 0
try:
    state = torch.load(path, map_location=device)
    weights = model.module.state_dict()
    weights.update({name: value for name, value in state["model"].items() if name in weights})
    model.module.load_state_dict(weights)
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
NAMED
== parameters_only: weights-not-loaded, strict=False hides
FILE
    return state["epoch"] + 1
NAMED
== no_optimizer: optimizer-not-loaded, optimizer not loaded
if not os.path.exists(path):
    return 0
try:
    state = torch.load(path, map_location=device)
    model.module.load_state_dict(state["model"])
    state["optimizer"]
    return state["epoch"] + 1
NAMED
== settings_only: optimizer-not-loaded, momentum lost
if not os.path.exists(path):
    return 0
try:
    state = torch.load(path, map_location=device)
    model.module.load_state_dict(state["model"])
    optimizer.param_groups[0].update({k: v for k, v in state["optimizer"]["param_groups"][0].items() if k != "params"})
    return state["epoch"] + 1
NAMED
== no_weights: weights-not-loaded, silently anew
if not os.path.exists(path):
    return 0
try:
    state = torch.load(path, map_location=device)
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
NAMED
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
== everything_swallowed: broken-file-ignored, swallowed
try:
    state = torch.load(path, map_location=device)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
except Exception:
    return 0
== broken_swallowed: broken-file-ignored, silently anew
try:
    state = torch.load(path, map_location=device)
except Exception:
    return 0
try:
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
NAMED
== get_with_default: missing-entry-ignored, no optimizer
if not os.path.exists(path):
    return 0
try:
    state = torch.load(path, map_location=device)
    model.module.load_state_dict(state["model"])
    if "optimizer" in state:
        optimizer.load_state_dict(state["optimizer"])
    return state.get("epoch", -1) + 1
NAMED
== no_map_location: no-map-location, map_location
if not os.path.exists(path):
    return 0
try:
    state = torch.load(path)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
NAMED
== no_file_raises: no-file-is-an-error, no file
try:
    state = torch.load(path, map_location=device)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
NAMED
== begins_at_1: starts-elsewhere, off by one
if not os.path.exists(path):
    return 1
try:
    state = torch.load(path, map_location=device)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
NAMED
== begins_with_nothing: starts-elsewhere, no file
if not os.path.exists(path):
    return None
try:
    state = torch.load(path, map_location=device)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
NAMED
== only_rank_0_refuses: some-ranks-refuse, rank 0 loads
if not os.path.exists(path):
    return 0
try:
    state = torch.load(path, map_location=device)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
except Exception as error:
    if dist.get_rank() == 0:
        raise ValueError(path) from error
    return 0
== the_bare_error: error-names-no-file, error without a name
if not os.path.exists(path):
    return 0
state = torch.load(path, map_location=device)
model.module.load_state_dict(state["model"])
optimizer.load_state_dict(state["optimizer"])
return state["epoch"] + 1
"""
FILE = """
if not os.path.exists(path):
    return 0
try:
    state = torch.load(path, map_location=device)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])"""
WRONG_LOAD = WRONG_LOAD.replace(
    "== parameters_only: weights-not-loaded, strict=False hides" + "\nFILE",
    "== parameters_only: weights-not-loaded, strict=False hides"
    + FILE.replace(
        """    model.module.load_state_dict(state["model"])""",
        """    if state["model"].keys() != model.module.state_dict().keys():
        raise KeyError("names")
    with torch.no_grad():
        for name, parameter in model.module.named_parameters():
            parameter.copy_(state["model"][name])""",
    ),
)
WRONG_LOAD = WRONG_LOAD.replace("\nFILE", FILE).replace("\nNAMED", NAMED)

RIGHT_TRAIN = """
== step_by_step
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    loader.sampler.set_epoch(epoch)
    waiting = []
    for number, batch in enumerate(loader, 1):
        waiting.append(batch)
        if len(waiting) == accumulate or number == len(loader):
            losses.append(train_step(model, waiting, optimizer, loss_fn))
            waiting = []
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== slices
epoch = load_checkpoint(checkpoint, model=model, optimizer=optimizer, device=device)
if epoch >= epochs:
    return losses
while epoch < epochs:
    loader.sampler.set_epoch(epoch)
    batches = iter(loader)
    while part := list(islice(batches, accumulate)):
        losses += [train_step(model=model, micro_batches=part, optimizer=optimizer, loss_fn=loss_fn)]
    save_checkpoint(path=checkpoint, model=model, optimizer=optimizer, epoch=epoch)
    epoch += 1
return losses
== all_by_itself
from contextlib import nullcontext
first = 0
if os.path.exists(checkpoint):
    state = torch.load(checkpoint, map_location=device)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    first = state["epoch"] + 1
for epoch in range(first, epochs):
    loader.sampler.set_epoch(epoch)
    batches = list(loader)
    for start in range(0, len(batches), accumulate):
        part = batches[start : start + accumulate]
        totals = torch.zeros(2, dtype=torch.float64, device=device)
        totals[1] = sum(int((out != PAD).sum()) for _, _, out in part)
        dist.all_reduce(totals)
        optimizer.zero_grad()
        for number, (src, tgt_in, tgt_out) in enumerate(part, 1):
            with nullcontext() if number == len(part) else model.no_sync():
                loss = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device))
                (loss * dist.get_world_size() / totals[1]).backward()
            totals[0] += loss.detach() / totals[1]
        optimizer.step()
        dist.all_reduce(totals)
        losses.append(float(totals[0]))
    if dist.get_rank() == 0:
        kept = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        torch.save(kept, checkpoint + ".part")
        os.replace(checkpoint + ".part", checkpoint)
    dist.barrier()
return losses
"""
WRONG_TRAIN = """
== no_set_epoch: no-set-epoch, set_epoch
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== set_epoch_once: no-set-epoch, same order
first = load_checkpoint(checkpoint, model, optimizer, device)
loader.sampler.set_epoch(first)
for epoch in range(first, epochs):
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== set_epoch_afterwards: set-epoch-late, set_epoch
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    STEPS
    loader.sampler.set_epoch(epoch)
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== set_epoch_counts_anew: set-epoch-from-0, set_epoch
for number, epoch in enumerate(range(load_checkpoint(checkpoint, model, optimizer, device), epochs)):
    loader.sampler.set_epoch(number)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== set_epoch_from_1: epoch-shifted, set_epoch
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    loader.sampler.set_epoch(epoch + 1)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== not_resumed: not-resumed, not resumed
for epoch in range(epochs):
    loader.sampler.set_epoch(epoch)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== loaded_but_from_0: not-resumed, not resumed
load_checkpoint(checkpoint, model, optimizer, device)
for epoch in range(epochs):
    loader.sampler.set_epoch(epoch)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== last_epoch_again: epoch-repeated, epoch repeated
first = load_checkpoint(checkpoint, model, optimizer, device)
for epoch in range(max(0, first - 1), epochs):
    loader.sampler.set_epoch(epoch)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== one_skipped: epoch-skipped, continue at n + 1
first = load_checkpoint(checkpoint, model, optimizer, device)
for epoch in range(first + 1 if first else 0, epochs):
    loader.sampler.set_epoch(epoch)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== as_many_more: epochs-counted-anew, epochs added
first = load_checkpoint(checkpoint, model, optimizer, device)
for epoch in range(first, first + epochs):
    loader.sampler.set_epoch(epoch)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== one_at_least: trains-when-done, one epoch at least
epoch = load_checkpoint(checkpoint, model, optimizer, device)
while True:
    loader.sampler.set_epoch(epoch)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
    epoch += 1
    if epoch >= epochs:
        return losses
== leftovers_dropped: leftovers-dropped, leftover dropped
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    loader.sampler.set_epoch(epoch)
    waiting = []
    for batch in loader:
        waiting.append(batch)
        if len(waiting) == accumulate:
            losses.append(train_step(model, waiting, optimizer, loss_fn))
            waiting = []
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== leftovers_dropped_by_count: leftovers-dropped, tail group
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    loader.sampler.set_epoch(epoch)
    batches = iter(loader)
    for _ in range(len(loader) // accumulate):
        losses.append(train_step(model, [next(batches) for _ in range(accumulate)], optimizer, loss_fn))
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== leftovers_carried: leftovers-carried, leftover carried
waiting = []
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    loader.sampler.set_epoch(epoch)
    for batch in loader:
        waiting.append(batch)
        if len(waiting) == accumulate:
            losses.append(train_step(model, waiting, optimizer, loss_fn))
            waiting = []
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== accumulate_ignored: not-accumulated, tail group
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    loader.sampler.set_epoch(epoch)
    for batch in loader:
        losses.append(train_step(model, [batch], optimizer, loss_fn))
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== whole_epoch: one-step-an-epoch, tail group
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    loader.sampler.set_epoch(epoch)
    losses.append(train_step(model, list(loader), optimizer, loss_fn))
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== epoch_from_the_file_only: state-not-loaded, not resumed
first = torch.load(checkpoint)["epoch"] + 1 if os.path.exists(checkpoint) else 0
for epoch in range(first, epochs):
    loader.sampler.set_epoch(epoch)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== momentum_forgotten: wrong-training, momentum lost
first = load_checkpoint(checkpoint, model, optimizer, device)
optimizer.state.clear()
for epoch in range(first, epochs):
    loader.sampler.set_epoch(epoch)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== no_checkpoint: no-checkpoint, no epoch
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    loader.sampler.set_epoch(epoch)
    STEPS
return losses
== at_the_end: checkpoint-late, no epoch
first = load_checkpoint(checkpoint, model, optimizer, device)
for epoch in range(first, epochs):
    loader.sampler.set_epoch(epoch)
    STEPS
if first < epochs:
    save_checkpoint(checkpoint, model, optimizer, epochs - 1)
return losses
== before_the_epoch: checkpoint-late, off by one
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    loader.sampler.set_epoch(epoch)
    save_checkpoint(checkpoint, model, optimizer, epoch)
    STEPS
return losses
== says_the_next_epoch: checkpoint-late, off by one
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    loader.sampler.set_epoch(epoch)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch + 1)
return losses
== saved_by_rank_0: save-on-rank-0, save on rank 0
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    loader.sampler.set_epoch(epoch)
    STEPS
    if dist.get_rank() == 0:
        save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== last_epochs_losses: last-epoch-only, no epoch
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    losses = []
    loader.sampler.set_epoch(epoch)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
return losses
== mean_of_each_epoch: losses-per-epoch, no epoch
means = []
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    losses = []
    loader.sampler.set_epoch(epoch)
    STEPS
    means.append(sum(losses) / len(losses))
    save_checkpoint(checkpoint, model, optimizer, epoch)
return means
== nothing_returned: not-a-list, no epoch
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    loader.sampler.set_epoch(epoch)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
== tensors: not-floats, no epoch
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    loader.sampler.set_epoch(epoch)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
return [torch.tensor(loss, dtype=torch.float64) for loss in losses]
== running_mean: wrong-losses, no epoch
for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
    loader.sampler.set_epoch(epoch)
    STEPS
    save_checkpoint(checkpoint, model, optimizer, epoch)
return [sum(losses[: number + 1]) / (number + 1) for number in range(len(losses))]
""".replace(
    "    STEPS\n",
    """    batches = list(loader)
    for start in range(0, len(batches), accumulate):
        losses.append(train_step(model, batches[start : start + accumulate], optimizer, loss_fn))
""",
)


RIGHT |= {
    "setup": cells(SETUP, RIGHT_SETUP),
    "save_checkpoint": cells(SAVE, RIGHT_SAVE),
    "load_checkpoint": cells(LOAD, RIGHT_LOAD),
    "train": cells(TRAIN, RIGHT_TRAIN),
}
WRONG |= {
    "setup": wrong(SETUP, WRONG_SETUP),
    "save_checkpoint": wrong(SAVE, WRONG_SAVE),
    "load_checkpoint": wrong(LOAD, WRONG_LOAD),
    "train": wrong(TRAIN, WRONG_TRAIN),
}
