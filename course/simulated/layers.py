"""Layers of communicators: methods that take the place of mpi4py's own, below the watch.

During a watched run, a call goes from the student's code to the watch, which records it as the call that it is, from
there to the layers, and from these to MPI. mpi4py's classes cannot be patched, so a layer is a subclass of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Methods that make a communicator of some ranks of another; in most, mpi4py forgets that this was of a subclass. Those
# that start other programs are not here: nobody puts a layer in place at the other end.
MAKERS = (
    "Dup Dup_with_info Clone Split Split_type Create Create_group Create_cart Create_graph Create_dist_graph "
    "Create_dist_graph_adjacent Create_intercomm Merge Sub"
)


class Layer:
    """Makes subclasses of classes of communicators. Layers that are equal share them."""

    def methods(self, base: type) -> dict[str, Callable]:
        """The methods that take the place of those of `base`, by name. They call those."""
        raise NotImplementedError

    def meet(self, communicator: Any, parent: Any = None) -> None:
        """Called on all ranks of each communicator that gets the layer. parent: the one it was made of, if that has
        the layer, too."""

    def __call__(self, base: type) -> type:
        """The subclass of `base` that has this layer."""
        # Python knows a class's subclasses, and lets go of them when nobody uses them: no table is as good.
        for known in base.__subclasses__():
            if vars(known).get("layer") == self:
                return known
        makers = {name: self.maker(base, name) for name in MAKERS.split() if hasattr(base, name)}
        special = {"layer": self, "__module__": __name__}
        return type(base.__name__, (base,), {**self.methods(base), **makers, **special})

    def maker(self, base: type, operation: str) -> Callable:
        """A method that makes a communicator, which has the layer, too."""
        plain = getattr(base, operation)

        def make(own: Any, *args: Any, **kwargs: Any) -> Any:
            made = plain(own, *args, **kwargs)
            if not made:  # COMM_NULL
                return made
            if not any(vars(each).get("layer") is self for each in type(made).__mro__):
                made = over(made, self, own)
            self.meet(made, own)
            return made

        return make


def layered(communicator: Any, layer: Layer) -> Any:
    """The same communicator with a layer below the watch, if it is watched, and above the layers that it has.

    Nothing is communicated, except by the layer's `meet`. What Dup, Split and the like make of it has the layer, too.
    """
    made = over(communicator, layer, communicator)
    layer.meet(made)
    return made


def over(communicator: Any, layer: Layer, like: Any) -> Any:
    """The same communicator with a layer, watched if `like` is watched."""
    own = type(communicator)
    with_layer = layer(getattr(own, "plain", own))
    watched_over = getattr(type(like), "watched_over", None)
    return (watched_over(with_layer) if watched_over else with_layer)(communicator)
