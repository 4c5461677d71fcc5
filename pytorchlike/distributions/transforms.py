"""Transforms: differentiable maps with their inverses and the logarithm of their Jacobian's determinant.

A transform maps its ``domain`` to its ``codomain`` (constraints); ``t.inv`` is the inverse transform, with ``t.inv.inv is t``.
"""

from ._array_transforms import (
    CatTransform,
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
)
from ._number_transforms import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from ._transform import ComposeTransform, IndependentTransform, Transform, _InverseTransform, identity_transform

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform",
    "ExpTransform", "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip

for _class in [globals()[name] for name in __all__ if name != "identity_transform"] + [_InverseTransform]:
    _class.__module__ = __name__  # pickles go by torch's path
