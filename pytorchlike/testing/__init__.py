"""torch.testing: `assert_close` and `make_tensor`; and our own `compare_gradients`, a function's gradients found in four ways."""

from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor
from .gradients import GradientTable, assert_gradients_agree, compare_gradients

__all__ = ["GradientTable", "assert_allclose", "assert_close", "assert_gradients_agree", "compare_gradients", "make_tensor"]
