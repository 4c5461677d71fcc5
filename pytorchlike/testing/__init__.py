"""torch.testing: `assert_close` and `make_tensor`; and our own `compare_gradients`, a function's gradients found in four ways."""

from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
