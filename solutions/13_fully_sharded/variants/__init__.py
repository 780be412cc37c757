"""Right answers to the TODOs of lab 13, and known mistakes, one module per TODO; see `autograde.labs.variants`."""

# Where the mistakes are known from.
SOURCES = {
    "zero": "Rajbhandari and others 2020, https://arxiv.org/abs/1910.02054",
    "mixed": "Micikevicius and others 2018, Mixed precision training, https://arxiv.org/abs/1710.03740",
    "fsdp": "Zhao and others 2023, PyTorch FSDP, https://arxiv.org/abs/2304.11277",
    "chunks": "https://github.com/pytorch/pytorch/issues/114299",
    "not freed": "https://github.com/pytorch/pytorch/issues/149029",
    "version": "https://github.com/NVIDIA/Megatron-LM/pull/4976",
    "twice": "https://github.com/hamishivi/tmax/pull/9",
    "stages differ": "https://github.com/deepspeedai/DeepSpeed/issues/966",
    "no sync": "https://github.com/NVIDIA/cosmos-framework/issues/161",
    "optimizer": "https://github.com/facebookresearch/fairscale/issues/423",
    "tied": "https://github.com/huggingface/accelerate/pull/4171",
    "overlap": "https://github.com/pytorch/pytorch/pull/118017",
    "recomputed": "Chen and others 2016, Training deep nets with sublinear memory cost, https://arxiv.org/abs/1604.06174",
    "reader": "A student who had seen nothing but the lab",
    "dropout": "https://github.com/allenai/OLMo-core/pull/828",
}
