"""Which operations refuse tensors that are on several devices.

As in ATen: most operations want all tensors on one device. A CPU tensor without dimensions counts as a number in
pointwise operations, unless it is written to. Indices may be on the CPU. What moves data takes any device. Only
operations that surely refuse are listed here; the others pass, so that code that runs on a GPU never fails here.
(torch/aten/src/ATen/TensorIterator.cpp, `compute_types`; torch/_subclasses/fake_tensor.py, `_find_common_device`.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from .storages import CPU, Storages

# Names of operations, besides all that ATen calls pointwise, whose tensors have to be on one device.
STRICT_NAMES = """
mm addmm bmm baddbmm mv addmv dot vdot addr linear convolution convolution_backward embedding
embedding_dense_backward nll_loss_forward nll_loss_backward nll_loss2d_forward nll_loss2d_backward mse_loss
mse_loss_backward l1_loss smooth_l1_loss smooth_l1_loss_backward huber_loss binary_cross_entropy
binary_cross_entropy_backward native_layer_norm native_layer_norm_backward native_batch_norm
_native_batch_norm_legit native_batch_norm_backward native_group_norm cat stack gather scatter scatter_ scatter_add
scatter_add_ index_select index_add index_add_ index_copy index_copy_ masked_select
masked_scatter masked_scatter_ _scaled_dot_product_flash_attention_for_cpu scaled_dot_product_attention
_scaled_dot_product_attention_math _scaled_dot_product_flash_attention_for_cpu_backward
_transformer_encoder_layer_fwd _native_multi_head_attention equal take
"""
STRICT = frozenset(STRICT_NAMES.split())
INDEXING = frozenset(("index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"))
# Pointwise ones that move data, or that may have tensors on any device.
MOVING = frozenset(("copy", "copy_", "_to_copy", "to", "clone", "alias", "lift_fresh", "lift_fresh_copy", "where"))
ALL_ALIKE = "Expected all tensors to be on the same device, but found at least two devices, {} and {}!"
INDICES = "indices should be either on cpu or on the same device as the indexed tensor ({})"
NO_BACKEND = "No backend type associated with device type cpu"


# Namespaces of the operations by which torch.distributed communicates; those that send no tensor of the caller's.
COMMUNICATING = ("c10d", "_c10d_functional")
SENDING_NOTHING = ("barrier", "monitored_barrier_", "wait_tensor")


class DeviceMismatch(RuntimeError):
    """An operation met tensors on several devices, or a tensor on one that it cannot take; torch's own message.

    tensors: the one that is in the wrong place, as far as that can be said, and the one it was to meet; with devices.
    """

    def __init__(self, message: str, tensors: Sequence[tuple[Tensor, torch.device]]) -> None:
        super().__init__(message)
        self.tensors = tensors


class OnOthersGPU(DeviceMismatch):
    """A tensor was to be communicated from a GPU that is another rank's. current: the GPU of this one."""

    def __init__(self, message: str, tensors: Sequence[tuple[Tensor, torch.device]], current: torch.device) -> None:
        super().__init__(message, tensors)
        self.current = current


def refuse_mixtures(operation: Any, args: Sequence, kwargs: dict, where: Storages) -> None:
    """Raise DeviceMismatch where torch would on a GPU. operation: an OpOverload, with its arguments."""
    name = operation._schema.name.partition("::")[2]
    if name in INDEXING:
        refuse_indices(args, where)
    elif name not in MOVING and (name in STRICT or torch.Tag.pointwise in operation.tags):
        numbers = name not in STRICT
        met: tuple[Tensor, torch.device] | None = None
        for tensor, written in tensors_of(operation, args, kwargs):
            device = where.of(tensor)
            if device is None or (numbers and device == CPU and tensor.dim() == 0 and not written):
                continue
            if met is not None and device != met[1]:
                # The one on the CPU first: it is the one that was not moved, more likely than not.
                pair = sorted((met, (tensor, device)), key=lambda one: one[1] != CPU)
                raise DeviceMismatch(ALL_ALIKE.format(pair[1][1], pair[0][1]), pair)
            met = met or (tensor, device)


def refuse_to_communicate(operation: Any, tensors: Sequence[Tensor], where: Storages, current: torch.device) -> None:
    """Raise DeviceMismatch where NCCL would: it sends and receives tensors on a GPU alone, and two ranks on one GPU do
    not find each other. current: the GPU of this rank."""
    namespace, _, name = operation._schema.name.partition("::")
    for tensor in tensors if namespace in COMMUNICATING and name not in SENDING_NOTHING else ():
        if where.of(tensor) == CPU:
            raise DeviceMismatch(NO_BACKEND, [(tensor, CPU)])
        if where.of(tensor) not in (None, current):
            raise OnOthersGPU(ALL_ALIKE.format(where.of(tensor), current), [(tensor, where.of(tensor))], current)


def refuse_indices(args: Sequence, where: Storages) -> None:
    """Raise DeviceMismatch where an index, or what is put in its place, is on a device where it cannot be."""
    own = where.of(args[0])
    if own is None:
        return
    for index in args[1]:
        if isinstance(index, Tensor) and where.of(index) not in (None, CPU, own):
            raise DeviceMismatch(INDICES.format(own), [(args[0], own), (index, where.of(index))])
    if len(args) > 2 and isinstance(args[2], Tensor) and where.of(args[2]) not in (None, own):
        values, there = args[2], where.of(args[2])
        if not (there == CPU and values.dim() == 0):
            pair = sorted(((args[0], own), (values, there)), key=lambda one: one[1] != CPU)
            raise DeviceMismatch(ALL_ALIKE.format(pair[1][1], pair[0][1]), pair)


def tensors_of(operation: Any, args: Sequence, kwargs: dict) -> Iterator[tuple[Tensor, bool]]:
    """Each tensor among the arguments of an OpOverload, and whether it is written to."""
    for place, argument in enumerate(operation._schema.arguments):
        value = args[place] if place < len(args) else kwargs.get(argument.name)
        written = argument.alias_info is not None and argument.alias_info.is_write
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(each, Tensor):
                yield each, written
