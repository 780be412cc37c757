"""Calls of `parallel_pi`."""

from autograde.contract.call_probe import CallProbe

from .pi_calls import Seen, names, with_communicator

PROBE = CallProbe(Seen, with_communicator, names)
