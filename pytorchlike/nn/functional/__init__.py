"""``torch.nn.functional``: the operators declared for this namespace, and what code copied from torch's file finds there."""

from ...dispatch.namespaces import operator_namespace

_BORROWED = (
    "GRID_SAMPLE_INTERPOLATION_MODES", "GRID_SAMPLE_PADDING_MODES", "Optional", "ScalingType", "SwizzleType", "Tensor", "assert_int_or_pair", "grad",
    "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "scaled_grouped_mm", "scaled_mm",
)  # fmt: skip
_FOR_COPIES = (
    "_Reduction", "_canonical_mask", "_check_key_padding_mask", "_get_softmax_dim", "_in_projection", "_in_projection_packed", "_list_with_default",
    "_mha_shape_check", "_none_or_dtype", "_pair", "_single", "_triple", "_verify_batch_size",
)  # fmt: skip
__getattr__, __dir__ = operator_namespace(
    __name__, "nn.functional", homes=dict.fromkeys(_BORROWED, "_borrowed") | dict.fromkeys(_FOR_COPIES, "_for_copies")
)
