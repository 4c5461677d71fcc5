"""``torch.nn.functional``: the operators declared for this namespace, and what code copied from torch's file finds there."""

from ...dispatch.namespaces import operator_namespace

_BORROWED = (
    "GRID_SAMPLE_INTERPOLATION_MODES", "GRID_SAMPLE_PADDING_MODES", "Optional", "ScalingType", "SwizzleType", "Tensor", "assert_int_or_pair", "grad",
    "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "scaled_grouped_mm", "scaled_mm",
)  # fmt: skip
__getattr__, __dir__ = operator_namespace(__name__, "nn.functional", homes=dict.fromkeys(_BORROWED, "_borrowed"))
