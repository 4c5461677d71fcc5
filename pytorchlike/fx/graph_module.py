"""`GraphModule`: a module whose ``forward`` is the code of a graph."""

from __future__ import annotations

import copy
from typing import Any

from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from .graph import Graph

__all__ = ["GraphModule"]


class GraphModule(Module):
    """A module whose ``forward`` is a graph.

    Args:
        root: the module, or dictionary, that has what the graph refers to; it is shared.
        graph: is copied.
        class_name: the name of the class that is shown.
    """

    __module__ = "torch.fx.graph_module"

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        """Each one has a class of its own: ``forward`` is the class's."""
        own = cls if cls.__dict__.get("_is_single") else type(cls.__name__, (cls,), {"_is_single": True, "__module__": cls.__module__})
        return object.__new__(own)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = root.training
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                self._take(root, str(node.target))
        self.graph = graph

    def _take(self, root: Any, target: str) -> None:
        owner: Any = self
        source: Any = root
        *path, last = target.split(".")
        for part in path:
            source = getattr(source, part) if isinstance(root, Module) else source
            if not hasattr(owner, part):
                setattr(owner, part, Module())
            owner = getattr(owner, part)
            if owner is source:
                return
        value = getattr(source, last) if isinstance(root, Module) else root[target]
        if isinstance(value, Tensor) and isinstance(source, Module) and last in source._buffers:
            owner.register_buffer(last, value, last not in source._non_persistent_buffers_set)
        else:
            setattr(owner, last, value)

    @property
    def graph(self) -> Graph:
        """The graph; after a change of it call `recompile`."""
        return self.__dict__["_graph"]

    @graph.setter
    def graph(self, g: Graph) -> None:
        made = Graph(self)
        mapped: dict = {}
        found = made.graph_copy(g, mapped, return_output_node=True)
        if found is not None:
            made.output(found[0], found[1].type)
        self.__dict__["_graph"] = made
        self.recompile()

    @property
    def code(self) -> str:
        """The source of ``forward``."""
        return self.__dict__["_code"]

    def recompile(self) -> Any:
        """Make ``forward`` of the graph as it is now."""
        code = self.graph.python_code()
        names = dict(code.globals)
        exec(compile(code.src, "<torch.fx graph>", "exec"), names)
        self.__dict__["_code"] = code.src
        type(self).forward = names["forward"]
        return code

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a module under a path."""
        owner: Any = self
        *path, last = target.split(".")
        for part in path:
            if not hasattr(owner, part):
                setattr(owner, part, Module())
            owner = getattr(owner, part)
            if not isinstance(owner, Module):
                return False
        owner.add_module(last, m)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the submodules that no node refers to."""
        used = {str(node.target) for node in self.graph.nodes if node.op in ("call_module", "get_attr")}
        for name, _ in list(self.named_modules()):
            if name and not any(name == u or u.startswith(f"{name}.") or name.startswith(f"{u}.") for u in used):
                owner: Any = self.get_submodule(name.rpartition(".")[0])
                owner._modules.pop(name.rpartition(".")[2], None)

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The source of ``forward``."""
        if print_output:
            print(self.code)
        return self.code

    def __deepcopy__(self, memo: dict) -> GraphModule:
        held = Module()
        held.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items() if name not in ("_graph", "_code")})
        return GraphModule(held, self.graph, type(self).__name__)

    def __reduce__(self) -> Any:
        raise NotImplementedError("torch.fx.GraphModule: pickling is not supported; save its state_dict, or export it")
