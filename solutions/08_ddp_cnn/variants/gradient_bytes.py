"""Right answers to `gradient_bytes`, and mistakes that people make."""

ANSWERS = """
import torch
def gradient_bytes(model):
== a_loop
    count = 0
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            count += parameter.nbytes
    return count
== by_identity
    seen = {}
    for module in model.modules():
        for parameter in module._parameters.values():
            if parameter is not None and parameter.requires_grad:
                seen[id(parameter)] = parameter.numel() * parameter.dtype.itemsize
    return sum(seen.values())
== whole_state: state-dict, state
    return sum(each.nbytes for each in model.state_dict().values())
== frozen_too: frozen-counted, state < a_loop
        if parameter.requires_grad: >>>         if True:
== four_bytes: four-bytes-for-all, types < a_loop
parameter.nbytes >>> 4 * parameter.numel()
== in_the_first_type: first-ones-type, types < a_loop
parameter.nbytes >>> next(model.parameters()).element_size() * parameter.numel()
== how_many: numbers-not-bytes, types < a_loop
parameter.nbytes >>> parameter.numel()
== twice: tied-twice, tied < a_loop
named_parameters() >>> named_parameters(remove_duplicate=False)
== each_module: tied-twice, tied
    return sum(
        parameter.nbytes
        for module in model.modules()
        for parameter in module.parameters(recurse=False)
        if parameter.requires_grad
    )
== with_buffers: buffers-counted, state < a_loop
    return count >>>     return count + sum(each.nbytes for each in model.buffers())
== of_grad: no-gradient-yet, ddp < a_loop
if parameter.requires_grad >>> if parameter.grad is not None
== top: top-level-only, state < a_loop
named_parameters() >>> named_parameters(recurse=False)
== in_megabytes: wrong-bytes, types < a_loop
    return count >>>     return count / 1e6
== a_tensor: not-an-int, types < a_loop
    return count >>>     return torch.tensor(count)
== in_float: not-an-int, types < a_loop
    count = 0 >>>     count = 0.0
== half: model-altered, types
    model.half()
    return sum(each.nbytes for each in model.parameters() if each.requires_grad)
== printed: no-byte-count, types < a_loop
    return count >>>     print(count)
== by_address: told-by-address, tied
def gradient_bytes(model):
    counted, total = set(), 0
    for parameter in model.parameters():
        if parameter.requires_grad and parameter.data_ptr() not in counted:
            counted.add(parameter.data_ptr())
            total += parameter.numel() * parameter.element_size()
    return total
"""
