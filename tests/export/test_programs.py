"""What an exported program says of itself, what it computes, and what a file of it does, for modules of many kinds."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest
import torch as real

import pytorchlike as torch

from .comparing import ranges
from .programs import PROGRAMS

pytestmark = pytest.mark.filterwarnings("ignore")


def _made(t, name):
    module, args, kwargs, shapes = PROGRAMS[name](t)
    for k, tensor in enumerate([*module.parameters(), *module.buffers()]):
        if tensor.is_floating_point():
            values = np.linspace(-0.9 - k / 8, 0.9, tensor.numel(), dtype=np.float32).reshape(tuple(tensor.shape))
            tensor.data.copy_(t.tensor(np.abs(values).tolist()))
    return module, args, kwargs, shapes


def _program(t, name):
    module, args, kwargs, shapes = _made(t, name)
    return t.export.export(module, args, kwargs, dynamic_shapes=None if shapes is None else shapes(t.export.Dim))


def _argument(spec):
    argument = spec.arg
    return type(argument).__name__, getattr(argument, "value", None)


def _description(program):
    """What does not depend on the operators' names."""
    signature = program.graph_signature
    state = program.state_dict
    return {
        "inputs": [(s.kind.name, s.arg.name, s.target, s.persistent, *_argument(s)) for s in signature.input_specs],
        "outputs": [(s.kind.name, s.target, *_argument(s)) for s in signature.output_specs],
        "user_inputs": signature.user_inputs,
        "user_outputs": len(signature.user_outputs),
        "parameters": (signature.parameters, signature.inputs_to_parameters),
        "buffers": (signature.buffers, signature.inputs_to_buffers, signature.non_persistent_buffers),
        "constants": (signature.lifted_tensor_constants, signature.inputs_to_lifted_tensor_constants, list(program.constants)),
        "mutated": [list(d.values()) for d in (signature.buffers_to_mutate, signature.user_inputs_to_mutate, signature.parameters_to_mutate)],
        "state_dict": [(name, type(value).__name__, value.requires_grad, tuple(value.shape)) for name, value in state.items()],
        "ranges": ranges(program),
        "call_spec": str(program.call_spec.in_spec) + str(program.call_spec.out_spec),
        "calls": [(entry.fqn, entry.signature and entry.signature.forward_arg_names) for entry in program.module_call_graph],
        "examples": [type(each).__name__ for each in program.example_inputs],
        "dialect": program.dialect,
    }


def _plain(t, tree):
    leaves, spec = t.utils._pytree.tree_flatten(tree)
    return [leaf.detach().tolist() if isinstance(leaf, t.Tensor) else leaf for leaf in leaves], str(spec)


def _called(t, name, run):
    """Results, arguments and state after a call."""
    _, args, kwargs, _ = PROGRAMS[name](t)
    result = run(*args, **kwargs)
    state = {key: value.tolist() for key, value in run.state_dict().items()}
    return _plain(t, (result, args)), state, sorted(n for n, _ in run.named_parameters()), sorted(n for n, _ in run.named_buffers())


def _assert_alike(found, expected):
    (leaves, spec), state, *rest = found
    (wanted, wanted_spec), wanted_state, *wanted_rest = expected
    assert spec == wanted_spec and rest == wanted_rest and list(state) == list(wanted_state)
    for a, b in zip([*leaves, *state.values()], [*wanted, *wanted_state.values()], strict=True):
        if a is None or isinstance(a, str):
            assert a == b
        else:
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_those_of_torch(name):
    theirs, ours = _program(real, name), _program(torch, name)
    assert _description(ours) == _description(theirs)
    if name != "convolution":  # torch's then has a range without a size
        assert _description(ours.run_decompositions()) == _description(theirs.run_decompositions({}))
    _assert_alike(_called(torch, name, ours.module()), _called(real, name, theirs.module()))


FILES = ["linear", "dictionaries", "keywords", "optional", "constants", "tied", "twice", "buffers", "written", "conditional", "sizes"]


@pytest.mark.parametrize("name", FILES)
def test_files(name):
    program = _program(torch, name)
    file = io.BytesIO()
    torch.export.save(program, file)
    loaded = torch.export.load(io.BytesIO(file.getvalue()))
    loaded.example_inputs = program.example_inputs
    assert _description(loaded) == _description(program) and str(loaded) == str(program)
    again = _program(torch, name).module()
    _assert_alike(_called(torch, name, loaded.module()), _called(torch, name, again))


_ELSEWHERE = """
import sys
import pytorchlike as torch
for name, sizes in (("linear", (7, 3)), ("sizes", (9, 3)), ("tied", None)):
    run = torch.export.load(f"{sys.argv[1]}/{name}.pt2").module()
    x = torch.tensor([1, 2]) if sizes is None else torch.arange(float(sizes[0] * sizes[1])).view(sizes)
    result = run(x)
    print(name, [round(leaf.sum().item(), 2) if isinstance(leaf, torch.Tensor) else leaf for leaf in torch.utils._pytree.tree_leaves(result)])
    if name == "tied":
        print(run.head.weight is run.embed.weight)
try:
    torch.export.load(f"{sys.argv[1]}/linear.pt2").module()(torch.ones(2, 4))
except AssertionError as error:
    print(error)
"""


def test_files_in_another_process(tmp_path):
    expected = []
    for name, sizes in (("linear", (7, 3)), ("sizes", (9, 3)), ("tied", None)):
        program = _program(torch, name)
        torch.export.save(program, tmp_path / f"{name}.pt2")
        x = torch.tensor([1, 2]) if sizes is None else torch.arange(float(sizes[0] * sizes[1])).view(sizes)
        result = program.module()(x)
        leaves = [round(leaf.sum().item(), 2) if isinstance(leaf, torch.Tensor) else leaf for leaf in torch.utils._pytree.tree_leaves(result)]
        expected.append(f"{name} {leaves}")
    made = subprocess.run([sys.executable, "-c", _ELSEWHERE, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert made.stdout.splitlines() == [*expected, "True", "Guard failed: input.size()[1] == 3"], made.stderr


def test_decompositions_by_functions_are_refused():
    with pytest.raises(NotImplementedError, match="decomp_table"):
        _program(torch, "linear").run_decompositions({torch.ops.aten.relu.default: lambda x: x})
    with pytest.raises(NotImplementedError, match="preserve_module_call_signature"):
        torch.export.export(torch.nn.ReLU(), (torch.ones(2),), preserve_module_call_signature=("",))


def test_texts_have_the_symbols():
    text = _program(torch, "sizes").print_readable(print_output=False)
    expected = _program(real, "sizes").graph_module.print_readable(print_output=False)
    (symbol,) = _program(torch, "sizes").range_constraints
    for line in (f'x: "f32[{symbol}, 3]"', f'mul: "f32[{symbol}, 3]" = torch.ops.aten.mul'):
        assert line in text and line in expected
