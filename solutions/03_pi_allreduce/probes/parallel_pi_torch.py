"""Calls of `parallel_pi_torch`."""

from autograde.contract.call_probe import CallProbe

from .pi_calls import Seen, names, without_communicator

PROBE = CallProbe(Seen, without_communicator, names, needs="torch")
