"""Right answers to the TODOs of lab 09, and known mistakes, one module per TODO; see `autograde.labs.variants`."""

# Where the mistakes are known from.
SOURCES = {
    "buffers": "https://github.com/pytorch/pytorch/issues/30718",
    "frozen": "https://github.com/speechbrain/speechbrain/issues/2814",
    "state": "https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.state_dict",
    "ddp": "https://pytorch.org/docs/stable/notes/ddp.html",
    "broadcast": "https://pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast",
    "none": "https://github.com/OpenTSLM/OpenTSLM/issues/49",
    "skipped": "https://github.com/horovod/horovod/issues/564",
    "tape": "https://github.com/PaddlePaddle/tape/issues/56",
    "sum": "https://pytorch.org/tutorials/intermediate/dist_tuto.html",
    "order": "Li and others 2020, PyTorch Distributed, arXiv:2006.15704, section 3.2.3",
    "argument": "https://github.com/huggingface/picotron/issues/39",
    "hook": "https://github.com/pytorch/pytorch/issues/187268",
    "tensor-hook": "https://github.com/huggingface/picotron_tutorial",
    "async": "https://github.com/OpenNMT/OpenNMT-py/issues/2295",
    "buckets": "Li and others 2020, PyTorch Distributed, arXiv:2006.15704, section 3.2.2",
    "unused": "https://github.com/pytorch/pytorch/issues/22436",
    "no_sync": "https://github.com/baidu-baige/LoongForge/issues/163",
    "accumulation": "https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
    "blind": "readers who solved this lab from its notebook alone, or tried what a novice may try",
    "weights": "https://discuss.pytorch.org/t/average-parameters-vs-gradients/65564",
}
