from __future__ import annotations

from typing import Any

import pytest

import pytorchlike as ours

CHECKS = ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]


def custom(torch: Any, space: str, name: str, function: Any, schema: str = "(Tensor x) -> Tensor") -> Any:
    return torch.library.custom_op(f"{space}::{name}", function, mutates_args=(), schema=schema)


def test_what_fits_together_succeeds() -> None:
    op = custom(ours, "checked", "sin", lambda x: x.sin())
    op.register_fake(ours.empty_like)
    op.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0].cos(), setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    samples = (ours.randn(3, requires_grad=True),)
    assert ours.library.opcheck(op, samples) == ours.library.opcheck(ours.ops.checked.sin, samples) == dict.fromkeys(CHECKS, "SUCCESS")


def test_mutation_and_shapes_are_found(torch: Any, space: str) -> None:
    op = custom(torch, space, "liar", lambda x: x.add_(1) * 1)
    op.register_fake(lambda x: x.new_empty(3))
    x = torch.ones(1)
    check = torch.library.opcheck
    with pytest.raises(Exception, match=r"opcheck\(op, ...\): test_schema failed with Argument x is not defined as mutable but was mutated"):
        check(op, (x,), test_utils="test_schema")
    with pytest.raises(Exception, match=r"test_faketensor failed with .*found mismatched tensor metadata: Shapes torch.Size\(\[1\]\) and torch.Size\(\[3\]\)"):
        check(op, (x,), test_utils="test_faketensor")
    found = check(op, (x,), test_utils=("test_schema", "test_faketensor"), raise_exception=False)
    assert list(found) == ["test_schema", "test_faketensor"] and all(isinstance(error, Exception) for error in found.values())
    with pytest.raises(ValueError, match=r"test_utils=\('test_foo',\)\), expected test_utils to be subset of \('test_schema', 'test_autograd_registration'"):
        check(op, (x,), test_utils="test_foo")
    with pytest.raises(ValueError, match="op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got"):
        check(torch.add, (x, x))


def test_gradient_in_the_wrong_place_is_found(torch: Any, lib: Any, space: str) -> None:
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: x * 2, "CPU")
    with pytest.raises(Exception, match="at least one output of this operator has requires_grad=True|an autograd kernel|requires_grad"):
        torch.library.opcheck(getattr(torch.ops, space).foo.default, (torch.ones(1, requires_grad=True),), test_utils="test_autograd_registration")
