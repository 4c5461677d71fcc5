"""``torch.fx``: graphs of modules and functions, found by running them on proxies, changed, and turned into Python again."""

from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, map_arg
from .proxy import Proxy
from .tracer import Tracer, symbolic_trace, wrap

__all__ = ["Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer", "map_arg", "symbolic_trace", "wrap"]
