"""``torch.backends``: what computes underneath, answered for XLA; switches that mean nothing to it are kept and returned."""

from . import cpu, cuda, cudnn, mkl, mkldnn, mps, nnpack, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"]
