"""``torch.fx``: graphs of modules and functions, found by running them on proxies, changed, and turned into Python again."""

from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_arg
from .proxy import Proxy
from .tracer import Tracer, symbolic_trace, wrap

__all__ = ["Graph", "GraphModule", "Node", "Proxy", "Tracer", "map_arg", "symbolic_trace", "wrap"]
