"""Right answers to `Preemption`, and mistakes that people make."""

ANSWERS = r"""
== plain
import os
import signal
import sys
import torch
import torch.distributed as dist
class Preemption:
    def __init__(self, signals):
        self.signals, self.signalled = signals, False
    def __enter__(self):
        self.old = {}
        for number in self.signals:
            self.old[number] = signal.signal(number, self._handle)
        return self
    def __exit__(self, *error):
        for number, handler in self.old.items():
            signal.signal(number, handler)
    def _handle(self, number, frame):
        self.signalled = True
    def agreed(self):
        where = torch.device("cuda", torch.cuda.current_device()) if dist.get_backend() == "nccl" else None
        flag = torch.tensor(int(self.signalled), device=where)
        dist.all_reduce(flag)
        if flag.item() > 0:
            self.signalled = True
        return self.signalled
== by_threshold < plain
torch.tensor(int(self.signalled), device=where) >>> torch.full((), float(self.signalled), dtype=torch.float64, device=where)
flag.item() > 0 >>> flag.item() > 0.5
== with_lambda < plain
self._handle) >>> lambda *_: setattr(self, "signalled", True))
== each_for_itself: each-rank-for-itself, leaves alone < plain
        if flag.item() > 0:\n            self.signalled = True\n >>>
== no_communication: each-rank-for-itself, one rank leaves < each_for_itself
        dist.all_reduce(flag)\n >>>
== rank_0_decides: rank-0-decides, one rank leaves < plain
        dist.all_reduce(flag) >>>         flag *= dist.get_rank() == 0\n        dist.all_reduce(flag)
        if flag.item() > 0:\n            self.signalled = True\n        return self.signalled >>>         return flag.item() > 0
== all_have_to: all-have-to-be-signalled, one rank leaves < plain
all_reduce(flag) >>> all_reduce(flag, dist.ReduceOp.MIN)
            self.signalled = True\n        return self.signalled >>>             return True\n        return False
== forgets: forgets, leaves alone < plain
            self.signalled = True\n        return self.signalled >>>             self.signalled = False\n            return True\n        return False
== raises: handler-raises, handler exits < plain
        self.signalled = True\n    def agreed >>>         self.signalled = True\n        raise KeyboardInterrupt\n    def agreed
== exits: handler-raises, handler exits < plain
        self.signalled = True\n    def agreed >>>         sys.exit(0)\n    def agreed
== ends_at_once: handler-ends-the-rank, handler exits < plain
        self.signalled = True\n    def agreed >>>         os._exit(0)\n    def agreed
== communicates: handler-communicates, leaves alone < plain
        self.signalled = True\n    def agreed >>>         self.signalled = True\n        dist.barrier()\n    def agreed
== returns_at_once: signalled-leaves-alone, leaves alone < plain
        where = >>>         if self.signalled:\n            return True\n        where =
== prints: handler-does-more, docs < plain
        self.signalled = True\n    def agreed >>>         self.signalled = True\n        print("signalled", number)\n    def agreed
== calls_the_old_one: handler-does-more, docs < plain
        self.signalled = True\n    def agreed >>>         self.signalled = True\n        if callable(self.old.get(number)):\n            self.old[number](number, frame)\n    def agreed
== taken_when_made: taken-too-early, docs < plain
        self.signals, self.signalled = signals, False >>>         self.signals, self.signalled = signals, False\n        self.old = {number: signal.signal(number, self._handle) for number in signals}
        self.old = {}\n        for number in self.signals:\n            self.old[number] = signal.signal(number, self._handle)\n >>>
== looked_when_made: handlers-left, docs < plain
        self.signals, self.signalled = signals, False >>>         self.signals, self.signalled = signals, False\n        self.old = {number: signal.getsignal(number) for number in signals}
        self.old = {}\n >>>
            self.old[number] = signal.signal(number, self._handle) >>>             signal.signal(number, self._handle)
== handlers_left: handlers-left, docs < plain
        for number, handler in self.old.items():\n            signal.signal(number, handler) >>>         self.old.clear()
== default_afterwards: handlers-left, docs < plain
signal.signal(number, handler) >>> signal.signal(number, signal.SIG_DFL)
== left_by_an_error: handlers-left, docs < plain
for number, handler in self.old.items(): >>> for number, handler in self.old.items() if error[0] is None else ():
== swallows: exception-swallowed, docs < plain
            signal.signal(number, handler) >>>             signal.signal(number, handler)\n        return True
== first_signal_only: other-signals-taken, handler exits < plain
self.signals:\n >>> list(self.signals)[:1]:\n
== sigterm_only: other-signals-taken, docs < plain
for number in self.signals: >>> for number in [signal.SIGTERM]:
== every_signal: other-signals-taken, docs < plain
self.signals, self.signalled = signals, False >>> self.signals, self.signalled = [signal.SIGTERM, signal.SIGUSR2], False
== no_self: gives-no-self, docs < plain
        return self\n >>>
== remembers: remembers-another-block, docs < plain
self.signalled = signals, False >>> _ = signals, None
class Preemption: >>> class Preemption:\n    signalled = False
            self.signalled = True >>>             Preemption.signalled = True
        self.signalled = True\n    def agreed >>>         Preemption.signalled = True\n    def agreed
== a_number: another-kind, traps < plain
return self.signalled >>> return int(self.signalled)
== gathered: not-one-all-reduce, traps < plain
        flag = torch.tensor(int(self.signalled), device=where)\n        dist.all_reduce(flag)\n        if flag.item() > 0: >>>         flags = [None] * dist.get_world_size()\n        dist.all_gather_object(flags, self.signalled)\n        if any(flags):
== twice: not-one-all-reduce, traps < plain
        dist.all_reduce(flag) >>>         dist.all_reduce(flag)\n        dist.all_reduce(flag)
== with_its_number: not-one-all-reduce, traps < plain
torch.tensor(int(self.signalled), device=where) >>> torch.tensor([int(self.signalled), 1, 0], device=where)
flag.item() > 0 >>> flag[0].item() > 0
== once_it_is_true_no_more: not-one-all-reduce, leaves alone < plain
        where = >>>         if self.signalled and getattr(self, "told", False):\n            return True\n        where =
            self.signalled = True\n        return >>>             self.signalled = self.told = True\n        return
"""
