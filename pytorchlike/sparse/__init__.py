"""torch.sparse: functions on sparse tensors, which ``torch.sparse_coo_tensor`` and the like make."""

from ..aten.sparse_create import check_sparse_tensor_invariants, spdiags
from ..aten.sparse_functions import addmm, as_sparse_gradcheck, log_softmax, mm, sampled_addmm, softmax, sum

__all__ = [
    "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags", "sum",
]  # fmt: skip
