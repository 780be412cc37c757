"""Right answers to `learning_rate`, and mistakes that people make."""

ANSWERS = """
import math
import torch
def learning_rate(lr, size, warmup):
    top = lr * size
== minimum
    return lambda step: top if not warmup else lr + (top - lr) * min(step, warmup) / warmup
== weighted
    def rate(step):
        part = 1.0 if step >= warmup else step / warmup
        return (1 - part) * lr + part * top
    return rate
== a_class
    class Rate:
        def __call__(self, step):
            if warmup and step < warmup:
                return lr * (1 + (size - 1) * step / warmup)
            return size * lr
    return Rate()
== from_zero: starts-at-zero, scaling
    return lambda step: top if step >= warmup else top * step / warmup
== from_the_first_step: starts-at-zero, scaling
    return lambda step: top if step >= warmup else top * (step + 1) / warmup
== on_and_on: past-the-top, schedule
    return lambda step: lr + (top - lr) * step / warmup if warmup else top
== no_guard: no-warmup-fails, nan
    return lambda step: lr + (top - lr) * min(step, warmup) / warmup
== nan_without: no-warmup-fails, nan
    return lambda step: lr + (top - lr) * (torch.tensor(min(step, warmup) * 1.0, dtype=torch.float64) / warmup).item()
== line_in_single: float32, nan
    line = torch.linspace(lr, top, warmup + 1)
    return lambda step: line[step].item() if step < warmup else top
== root: square-root, scaling
    top = lr * math.sqrt(size)
    return lambda step: top if step >= warmup else lr + (top - lr) * step / warmup
== twice: scaled-twice, schedule
    return lambda step: top * size if step >= warmup else lr + (top * size - lr) * step / warmup
== unscaled: never-scaled, scaling
    return lambda step: lr
== no_warmup: always-at-the-top, scaling
    return lambda step: top
== a_step_early: at-the-top-too-soon, schedule
    return lambda step: top if step + 1 >= warmup else lr + (top - lr) * (step + 1) / warmup
== jump: staircase, scaling
    return lambda step: top if step >= warmup else lr
== counts: remembers-its-calls, schedule
    done = []
    def rate(step):
        done.append(step)
        k = len(done) - 1
        return top if k >= warmup else lr + (top - lr) * k / warmup
    return rate
== a_list: not-a-schedule, schedule
    return [lr + (top - lr) * step / warmup for step in range(warmup)]
== counts_up: remembers-its-calls, schedule
    done = 0
    def rate(step):
        nonlocal done
        part = min(done, warmup) / warmup if warmup else 1.0
        done += 1
        return lr + (top - lr) * part
    return rate
== unscaled_without: never-scaled, scaling
    return lambda step: lr + (top - lr) * min(step, warmup) / warmup if warmup else lr
"""
