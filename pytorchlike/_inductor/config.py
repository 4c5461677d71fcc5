"""``torch._inductor.config``: settings that programs make; they are kept and change nothing, XLA has its own."""

from __future__ import annotations

from types import SimpleNamespace

coordinate_descent_tuning = False
epilogue_fusion = True
force_disable_caches = False
freezing = False
fx_graph_cache = True
max_autotune = False
max_autotune_gemm = False
shape_padding = True
triton = SimpleNamespace(cudagraphs=False, cudagraph_trees=True, unique_kernel_names=True)
