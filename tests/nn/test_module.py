"""`Module`, containers, hooks, state and initialisers: each case runs as the same script on both libraries."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from collections import OrderedDict

import numpy as np
import pytest
import torch

import pytorchlike

CASES: list = []


def case(function):
    """A script over a library; its results, or what it raises, must agree."""
    CASES.append(function)
    return function


def _outcome(function, library):
    library.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = _plain(function(library))
        except Exception as error:
            return type(error).__name__, _text(str(error)), None
    own = {str(w.message) for w in caught if issubclass(w.category, (UserWarning, FutureWarning))}
    return "returned", result, own


def _text(text: str) -> str:
    return text.replace("pytorchlike", "torch")


def _plain(value):
    if hasattr(value, "detach"):
        return ("tensor", tuple(value.shape), str(value.dtype), value.requires_grad, np.round(value.detach().numpy().astype("f8"), 5).tolist())
    if isinstance(value, dict):
        return [(key, _plain(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    return _text(value) if isinstance(value, str) else value if isinstance(value, (int, float, bool, type(None))) else _text(str(type(value)))


def _model(library):
    nn = library.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 2, 3)
            self.body = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.BatchNorm1d(3))
            self.register_buffer("scale", library.ones(2))
            self.register_buffer("scratch", library.zeros(1), persistent=False)
            self.register_parameter("none", None)
            self.extra = nn.ParameterList([library.ones(2), library.zeros(1)])
            self.shared = self.body[0]

        def forward(self, x):
            return self.body(self.conv(x).mean((2, 3)) * self.scale)

    return Net()


# ------------------------------------------------------------------------------------------------- registration and traversal
@case
def registries_and_iterators(torch):
    net = _model(torch)
    return [
        repr(net), [n for n, _ in net.named_parameters()], [n for n, _ in net.named_parameters(remove_duplicate=False)],
        [n for n, _ in net.named_buffers()], [n for n, _ in net.named_modules()], [n for n, _ in net.named_modules(remove_duplicate=False)],
        [n for n, _ in net.named_children()], list(net.state_dict()), [n for n, _ in net.named_parameters(prefix="p", recurse=False)],
        len(list(net.modules())), net.get_submodule("body.1").__class__.__name__, net.get_parameter("body.0.weight"), net.get_buffer("scale"),
        [n for n in ("conv", "scale", "none", "training") if n in dir(net)],
    ]  # fmt: skip


def _refusals():
    def refuse(name):
        def add(action):
            action.__name__ = name
            CASES.append(action)

        return add

    refuse("get_submodule_missing")(lambda torch: _model(torch).get_submodule("body.7"))
    refuse("get_submodule_of_tensor")(lambda torch: _model(torch).get_submodule("scale"))
    refuse("get_parameter_missing")(lambda torch: _model(torch).get_parameter("conv.weights"))
    refuse("get_parameter_of_buffer")(lambda torch: _model(torch).get_parameter("scale"))
    refuse("get_buffer_of_parameter")(lambda torch: _model(torch).get_buffer("conv.weight"))
    refuse("missing_attribute")(lambda torch: _model(torch).nothing)
    refuse("parameter_takes_no_tensor")(lambda torch: setattr(_model(torch).conv, "weight", torch.ones(2)))
    refuse("module_takes_no_number")(lambda torch: setattr(_model(torch), "conv", 3))
    refuse("buffer_takes_no_number")(lambda torch: setattr(_model(torch), "scale", 3))
    refuse("register_non_parameter")(lambda torch: torch.nn.Module().register_parameter("x", torch.ones(1)))
    refuse("register_non_leaf")(lambda torch: torch.nn.Module().register_parameter("x", 3))
    refuse("register_dotted")(lambda torch: torch.nn.Module().register_parameter("a.b", None))
    refuse("register_empty")(lambda torch: torch.nn.Module().register_parameter("", None))
    refuse("register_number")(lambda torch: torch.nn.Module().register_parameter(1, None))
    refuse("register_taken")(lambda torch: torch.nn.Linear(1, 1).register_buffer("in_features", None))
    refuse("buffer_dotted")(lambda torch: torch.nn.Module().register_buffer("a.b", None))
    refuse("buffer_of_list")(lambda torch: torch.nn.Module().register_buffer("a", [1]))
    refuse("buffer_number_name")(lambda torch: torch.nn.Module().register_buffer(2, None))
    refuse("module_dotted")(lambda torch: torch.nn.Module().add_module("a.b", None))
    refuse("module_empty")(lambda torch: torch.nn.Module().add_module("", None))
    refuse("module_of_tensor")(lambda torch: torch.nn.Module().add_module("a", torch.ones(1)))
    refuse("module_of_number")(lambda torch: torch.nn.Module().add_module("a", 1))
    refuse("module_number_name")(lambda torch: torch.nn.Module().add_module(3, None))
    refuse("no_forward")(lambda torch: torch.nn.Module()(1))
    refuse("unexpected_keyword")(lambda torch: torch.nn.Module(a=1))
    refuse("unexpected_positional")(lambda torch: torch.nn.Module(1))
    refuse("train_number")(lambda torch: torch.nn.Module().train(1))
    refuse("to_integer")(lambda torch: torch.nn.Linear(1, 1).to(torch.int64))
    refuse("delete_missing")(lambda torch: delattr(torch.nn.Linear(1, 1), "nothing"))
    refuse("extra_state")(lambda torch: torch.nn.Module().get_extra_state())
    refuse("set_submodule_empty")(lambda torch: torch.nn.Module().set_submodule("", torch.nn.Module()))
    refuse("set_submodule_strict")(lambda torch: torch.nn.Module().set_submodule("a", torch.nn.Module(), strict=True))
    refuse("conv_groups")(lambda torch: torch.nn.Conv2d(3, 4, 1, groups=2))
    refuse("conv_groups_zero")(lambda torch: torch.nn.Conv2d(3, 4, 1, groups=0))
    refuse("conv_same_strided")(lambda torch: torch.nn.Conv2d(3, 4, 1, stride=2, padding="same"))
    refuse("conv_transpose_size")(lambda torch: torch.nn.ConvTranspose2d(1, 1, 3, stride=2)(torch.ones(1, 1, 2, 2), output_size=(9, 9)))
    refuse("conv_transpose_rank")(lambda torch: torch.nn.ConvTranspose2d(1, 1, 3)(torch.ones(1, 1, 2, 2), output_size=(9,)))
    refuse("batchnorm_rank")(lambda torch: torch.nn.BatchNorm2d(3)(torch.ones(1, 3)))
    refuse("batchnorm1d_rank")(lambda torch: torch.nn.BatchNorm1d(3)(torch.ones(3)))
    refuse("instancenorm_rank")(lambda torch: torch.nn.InstanceNorm2d(3)(torch.ones(3)))
    refuse("instancenorm_features")(lambda torch: torch.nn.InstanceNorm1d(3, affine=True)(torch.ones(1, 2, 4)))
    refuse("group_norm_groups")(lambda torch: torch.nn.GroupNorm(2, 3))
    refuse("dropout_p")(lambda torch: torch.nn.Dropout(1.5))
    refuse("embedding_padding")(lambda torch: torch.nn.Embedding(3, 2, padding_idx=3))
    refuse("hardtanh_bounds")(lambda torch: torch.nn.Hardtanh(2, 1))
    refuse("unflatten_sizes")(lambda torch: torch.nn.Unflatten(1, (2, "a")))
    refuse("unflatten_number")(lambda torch: torch.nn.Unflatten(1, 2))
    refuse("softmax2d_rank")(lambda torch: torch.nn.Softmax2d()(torch.ones(2)))
    refuse("circular_rank")(lambda torch: torch.nn.CircularPad2d(1)(torch.ones(2)))
    refuse("heads")(lambda torch: torch.nn.MultiheadAttention(5, 2))
    refuse("heads_zero")(lambda torch: torch.nn.MultiheadAttention(0, 2))
    refuse("rnn_mode")(lambda torch: torch.nn.RNN(1, 1, nonlinearity="sigmoid"))
    refuse("rnn_hidden")(lambda torch: torch.nn.GRU(1, 0))
    refuse("rnn_dropout")(lambda torch: torch.nn.GRU(1, 1, dropout=2))
    refuse("rnn_proj")(lambda torch: torch.nn.GRU(1, 1, proj_size=1))
    refuse("rnn_proj_large")(lambda torch: torch.nn.LSTM(1, 1, proj_size=1))
    refuse("rnn_features")(lambda torch: torch.nn.LSTM(2, 1)(torch.ones(2, 2, 3)))
    refuse("rnn_rank")(lambda torch: torch.nn.LSTM(2, 1)(torch.ones(2)))
    refuse("rnn_dtype")(lambda torch: torch.nn.LSTM(2, 1)(torch.ones(2, 2, 2, dtype=torch.float64)))
    refuse("rnn_hidden_size")(lambda torch: torch.nn.GRU(2, 1)(torch.ones(2, 2, 2), torch.ones(1, 3, 1)))
    refuse("rnn_hidden_rank")(lambda torch: torch.nn.GRU(2, 1)(torch.ones(2, 2, 2), torch.ones(1, 3)))
    refuse("lstm_hidden_size")(lambda torch: torch.nn.LSTM(2, 1)(torch.ones(2, 2, 2), (torch.ones(1, 2, 1), torch.ones(1, 3, 1))))
    refuse("lstm_hidden_rank")(lambda torch: torch.nn.LSTM(2, 1)(torch.ones(2, 2, 2), (torch.ones(1, 3), torch.ones(1, 3))))
    refuse("cell_rank")(lambda torch: torch.nn.GRUCell(2, 1)(torch.ones(2, 2, 2)))
    refuse("cell_hidden_rank")(lambda torch: torch.nn.RNNCell(2, 1)(torch.ones(2), torch.ones(1, 1, 1)))
    refuse("lstm_cell_hidden_rank")(lambda torch: torch.nn.LSTMCell(2, 1)(torch.ones(2), (torch.ones(1, 1, 1), torch.ones(1))))
    refuse("activation_name")(lambda torch: torch.nn.TransformerEncoderLayer(4, 2, activation="tanh"))
    refuse("adaptive_cutoffs")(lambda torch: torch.nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2]))
    refuse("adaptive_targets")(lambda torch: torch.nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3], 1.0)(torch.ones(2, 4), torch.tensor([1, 7])))
    refuse("triplet_margin")(lambda torch: torch.nn.TripletMarginLoss(margin=0))
    refuse("multi_margin_p")(lambda torch: torch.nn.MultiMarginLoss(p=3))
    refuse("fractional_nothing")(lambda torch: torch.nn.FractionalMaxPool2d(2))
    refuse("fractional_ratio")(lambda torch: torch.nn.FractionalMaxPool2d(2, output_ratio=2.0))
    refuse("pack_unsorted")(lambda torch: torch.nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2), [1, 3]))
    refuse("pack_zero")(lambda torch: torch.nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2), [3, 0]))
    refuse("pack_count")(lambda torch: torch.nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2), [3]))
    refuse("gain")(lambda torch: torch.nn.init.calculate_gain("cube"))
    refuse("gain_param")(lambda torch: torch.nn.init.calculate_gain("leaky_relu", "a"))
    refuse("fan")(lambda torch: torch.nn.init.xavier_uniform_(torch.ones(2)))
    refuse("fan_mode")(lambda torch: torch.nn.init.kaiming_uniform_(torch.ones(2, 2), mode="fan"))
    refuse("eye_rank")(lambda torch: torch.nn.init.eye_(torch.ones(2)))
    refuse("dirac_rank")(lambda torch: torch.nn.init.dirac_(torch.ones(2)))
    refuse("orthogonal_rank")(lambda torch: torch.nn.init.orthogonal_(torch.ones(2)))
    refuse("sequential_index")(lambda torch: torch.nn.Sequential()[0])
    refuse("sequential_add")(lambda torch: torch.nn.Sequential() + 1)
    refuse("sequential_times")(lambda torch: torch.nn.Sequential() * 0)
    refuse("sequential_times_float")(lambda torch: torch.nn.Sequential() * 1.5)
    refuse("module_list_extend")(lambda torch: torch.nn.ModuleList().extend(1))
    refuse("module_dict_update")(lambda torch: torch.nn.ModuleDict().update(1))
    refuse("module_dict_pairs")(lambda torch: torch.nn.ModuleDict().update([[1, 2, 3]]))
    refuse("module_dict_items")(lambda torch: torch.nn.ModuleDict().update([1]))
    refuse("module_list_call")(lambda torch: torch.nn.ModuleList()(1))
    refuse("parameter_list_call")(lambda torch: torch.nn.ParameterList()(1))
    refuse("parameter_list_extend")(lambda torch: torch.nn.ParameterList().extend(1))
    refuse("parameter_dict_update")(lambda torch: torch.nn.ParameterDict().update(1))
    refuse("parameter_dict_pairs")(lambda torch: torch.nn.ParameterDict().update([[1, 2, 3]]))
    refuse("load_no_dict")(lambda torch: torch.nn.Linear(1, 1).load_state_dict([1]))
    refuse("legacy_reduction")(lambda torch: torch.nn.MSELoss(size_average=False).reduction)
    refuse("not_initialised_parameter")(lambda torch: setattr(torch.nn.Module.__new__(torch.nn.Module), "x", torch.nn.Parameter(torch.ones(1))))
    refuse("not_initialised_module")(lambda torch: setattr(torch.nn.Module.__new__(torch.nn.Module), "x", torch.nn.Module()))


_refusals()


@case
def attributes_change_kind(torch):
    net = _model(torch)
    net.scale = None
    net.conv = None
    net.scratch = torch.ones(1)
    net.thing = 3
    net.thing = torch.nn.Parameter(torch.ones(1))
    net.other = torch.ones(1)
    del net.extra
    net.buf = torch.nn.Buffer(torch.ones(2), persistent=False)
    net.set_submodule("body.1", torch.nn.Tanh())
    return [list(net._parameters), list(net._buffers), list(net._modules), sorted(net._non_persistent_buffers_set), "other" in net.__dict__, repr(net)]


@case
def modes_and_moves(torch):
    net = _model(torch)
    weight = net.conv.weight
    net.eval()
    net.requires_grad_(False)
    flags = [m.training for m in net.modules()]
    net.double()
    moved = [net.conv.weight is weight, str(weight.dtype), str(net.body[2].num_batches_tracked.dtype), str(net.scale.dtype)]
    net.to(torch.float32).train()
    meta = torch.nn.Linear(2, 2, device="meta")
    kept = meta.weight
    meta.to_empty(device="cpu")
    names = []
    net.apply(lambda m: names.append(type(m).__name__))
    return [flags, moved, names, str(net.scale.dtype), meta.weight is kept, str(meta.weight.device), [p.requires_grad for p in net.parameters()]]


@case
def zero_grad_drops_or_fills(torch):
    linear = torch.nn.Linear(2, 1)
    linear(torch.ones(1, 2)).sum().backward()
    linear.zero_grad(set_to_none=False)
    filled = linear.weight.grad.clone()
    linear.zero_grad()
    return [filled, linear.weight.grad]


# ------------------------------------------------------------------------------------------------- state
@case
def state_dict_and_metadata(torch):
    net = _model(torch)
    state = net.state_dict(prefix="a.")
    return [state, dict(state._metadata), net.state_dict(keep_vars=True)["conv.weight"] is net.conv.weight, net.state_dict()["conv.bias"].requires_grad]


@case
def strict_errors_name_every_key(torch):
    net = _model(torch)
    state = net.state_dict()
    del state["conv.bias"]
    state["conv.more"] = torch.ones(1)
    state["stranger.weight"] = torch.ones(1)
    state["conv.weight"] = torch.ones(3)
    state["scale"] = 3
    return net.load_state_dict(state)


@case
def not_strict_returns_the_keys(torch):
    net = _model(torch)
    answer = net.load_state_dict({"conv.bias": torch.ones(2), "x": torch.ones(1)}, strict=False)
    return [list(answer.missing_keys), list(answer.unexpected_keys), repr(answer), net.conv.bias, repr(net.load_state_dict(net.state_dict()))]


@case
def assign_uses_the_tensors(torch):
    net = torch.nn.Linear(2, 1, device="meta")
    new = torch.nn.Linear(2, 1).state_dict()
    net.load_state_dict(new, assign=True)
    return [net.weight, isinstance(net.weight, torch.nn.Parameter), net.weight.data_ptr() == new["weight"].data_ptr()]


@case
def state_hooks_and_extra_state(torch):
    log = []

    class Extra(torch.nn.Linear):
        def get_extra_state(self):
            return {"a": 1}

        def set_extra_state(self, state):
            log.append(state)

    net = torch.nn.Sequential(Extra(1, 1))
    net.register_state_dict_pre_hook(lambda m, prefix, keep: log.append(("pre", prefix, keep)))
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: log.append(("post", sorted(state))))
    net.register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: log.append(("load", prefix, len(rest))))
    net.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    net._register_state_dict_hook(lambda m, state, prefix, meta: OrderedDict(state, more=1))
    state = net.state_dict()
    log.append(list(state))
    del state["more"], state["0.bias"]
    net.load_state_dict(state)
    return log


@case
def batchnorm_loads_old_state(torch):
    norm = torch.nn.BatchNorm1d(2)
    state = OrderedDict((k, v) for k, v in norm.state_dict().items() if k != "num_batches_tracked")
    return repr(norm.load_state_dict(state))


@case
def prefix_is_stripped(torch):
    state = torch.nn.Sequential(torch.nn.Linear(1, 1)).state_dict(prefix="module.")
    torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    return [list(state), list(state._metadata)]


# ------------------------------------------------------------------------------------------------- hooks
@case
def forward_hooks(torch):
    log = []
    net = torch.nn.Linear(1, 1)
    net.register_forward_pre_hook(lambda m, args: log.append("pre 1"))
    net.register_forward_pre_hook(lambda m, args: (args[0] + 1,), prepend=True)
    net.register_forward_pre_hook(lambda m, args, kwargs: (args, kwargs), with_kwargs=True)
    net.register_forward_hook(lambda m, args, out: out * 2)
    handle = net.register_forward_hook(lambda m, args, kwargs, out: log.append((args, kwargs)), with_kwargs=True, prepend=True)
    first = net(torch.ones(1, 1))
    handle.remove()
    with net.register_forward_hook(lambda m, args, out: log.append("inside")):
        net(torch.ones(1, 1))
    net(torch.ones(1, 1))
    return [log, first, len(net._forward_hooks), len(net._forward_hooks_with_kwargs)]


@case
def always_called_hooks(torch):
    log = []
    net = torch.nn.Linear(1, 1)
    net.register_forward_hook(lambda m, args, out: log.append("normal"))
    net.register_forward_hook(lambda m, args, out: log.append(("always", out)), always_call=True)
    try:
        net("no tensor")
    except TypeError:
        log.append("raised")
    return log


@case
def bad_pre_hook(torch):
    net = torch.nn.Linear(1, 1)
    net.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    return net(torch.ones(1, 1))


@case
def global_hooks(torch):
    log = []
    module = torch.nn.modules.module
    handles = [
        module.register_module_forward_hook(lambda m, args, out: log.append(("forward", type(m).__name__))),
        module.register_module_forward_pre_hook(lambda m, args: log.append(("pre", type(m).__name__))),
        module.register_module_parameter_registration_hook(lambda m, name, p: log.append(("parameter", name))),
        module.register_module_buffer_registration_hook(lambda m, name, p: log.append(("buffer", name))),
        module.register_module_module_registration_hook(lambda m, name, p: log.append(("module", name))),
    ]
    net = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.BatchNorm1d(1))
    net(torch.ones(2, 1))
    for handle in handles:
        handle.remove()
    net(torch.ones(2, 1))
    return log


@case
def full_backward_hooks(torch):
    log = []
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    net[1].register_full_backward_hook(lambda m, gi, go: log.append(("hook", gi, go)))
    net[1].register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))
    net[1].register_full_backward_pre_hook(lambda m, go: log.append(("pre", go)))
    net[0].register_full_backward_hook(lambda m, gi, go: log.append(("no input gradient", gi, go)))
    net(torch.ones(1, 2)).sum().backward()
    x = torch.ones(1, 2, requires_grad=True)
    net(x).sum().backward()
    return [log, net[0].weight.grad, net[1].weight.grad, x.grad]


@case
def full_and_old_hooks_exclude_each_other(torch):
    net = torch.nn.Linear(1, 1)
    net.register_full_backward_hook(lambda *a: None)
    net.register_backward_hook(lambda *a: None)


# ------------------------------------------------------------------------------------------------- containers
@case
def sequential_is_a_list(torch):
    nn = torch.nn
    net = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    net.append(nn.ReLU6()).insert(1, nn.SELU()).extend([nn.SiLU()])
    popped = net.pop(0)
    net[0] = nn.Mish()
    del net[-1]
    return [repr(net), repr(named), repr(net[1:]), repr(named + net), repr(named * 2), type(popped).__name__, len(net), repr(named.b), [repr(m) for m in net]]


@case
def module_list_is_a_list(torch):
    nn = torch.nn
    items = nn.ModuleList([nn.Linear(1, 1) for _ in range(3)] + [nn.ReLU()])
    items.insert(1, nn.Tanh())
    items += [nn.SELU()]
    items.append(nn.ReLU())
    items[0] = nn.ReLU()
    popped = items.pop(2)
    del items[-1]
    return [repr(items), repr(items[1:3]), len(items), type(popped).__name__, repr(items + [nn.ReLU()]), list(items.state_dict()), repr(nn.ModuleList())]


@case
def module_dict_is_a_dict(torch):
    nn = torch.nn
    items = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Linear(1, 1)})
    items.update([("c", nn.Tanh())])
    items["d"] = nn.SELU()
    popped = items.pop("b")
    return [repr(items), list(items), list(items.keys()), [repr(v) for v in items.values()], "a" in items, len(items), repr(popped)]


@case
def parameter_list_is_a_list(torch):
    items = torch.nn.ParameterList([torch.ones(2), torch.nn.Parameter(torch.zeros(1, 2))])
    items.append(3)
    items += [torch.ones(1)]
    items[0] = torch.zeros(2)
    before = repr(items)
    return [before, len(items), [n for n, _ in items.named_parameters()], repr(items[1:]), repr(torch.nn.ParameterList([torch.ones(2)]))]


@case
def parameter_dict_is_a_dict(torch):
    items = torch.nn.ParameterDict({"b": torch.ones(2), "a": torch.zeros(1)})
    items["c"] = 3
    other = items | torch.nn.ParameterDict({"z": torch.ones(1)})
    items.setdefault("d", torch.ones(1))
    popped = items.popitem()
    return [repr(items), list(items), list(other), popped[0], items.get("q"), "a" in items, list(reversed(items)), list(items.fromkeys(["k"], 1).items())]


# ------------------------------------------------------------------------------------------------- parameters, copies
@case
def parameters(torch):
    p = torch.nn.Parameter(torch.ones(2))
    frozen = torch.nn.Parameter(torch.ones(1), requires_grad=False)
    q = copy.deepcopy(p)
    r = pickle.loads(pickle.dumps(frozen))
    data = torch.ones(1)
    shares = torch.nn.Parameter(data).data_ptr() == data.data_ptr()
    sum_type = type(p + 1).__name__
    return [repr(p), repr(frozen), q, q is p, r, isinstance(r, torch.nn.Parameter), shares, sum_type, torch.nn.Parameter(), isinstance(data, torch.nn.Parameter)]


@case
def modules_are_copied(torch):
    net = _model(torch)
    net.register_forward_hook(print)
    other = copy.deepcopy(net)
    return [repr(other) == repr(net), other.conv.weight is net.conv.weight, other.shared is other.body[0], len(other._forward_hooks), other.state_dict()]


# ------------------------------------------------------------------------------------------------- initialisers, utilities
@case
def initialisers_draw_torchs_numbers(torch):
    init = torch.nn.init
    made = []
    for name, kwargs in [
        ("uniform_", {"a": -1.0}), ("normal_", {"std": 2.0}), ("trunc_normal_", {}), ("trunc_normal_", {"std": 0.02}), ("constant_", {"val": 3}),
        ("ones_", {}), ("zeros_", {}), ("eye_", {}), ("xavier_uniform_", {"gain": 2.0}), ("xavier_normal_", {}), ("kaiming_uniform_", {"a": 1}),
        ("kaiming_normal_", {"mode": "fan_out", "nonlinearity": "relu"}), ("orthogonal_", {}), ("sparse_", {"sparsity": 0.5}),
    ]:  # fmt: skip
        for shape in ((3, 5), (6, 4)):
            made.append((name, getattr(init, name)(torch.empty(*shape), **kwargs)))
    made.append(init.dirac_(torch.empty(4, 2, 3, 3), groups=2))
    made.append([init.calculate_gain(n) for n in ("relu", "tanh", "selu", "linear", "leaky_relu")])
    return made


@case
def old_initialiser_names_warn(torch):
    return torch.nn.init.constant(torch.ones(1), 2.0)


@case
def gradients_are_clipped(torch):
    net = torch.nn.Linear(3, 2)
    (net(torch.ones(1, 3)) * 10).sum().backward()
    utils = torch.nn.utils
    norms = [utils.clip_grad_norm_(net.parameters(), 1.0), utils.clip_grad_norm_(net.parameters(), 0.5, norm_type=math.inf)]
    utils.clip_grad_value_(net.parameters(), 0.1)
    return [norms, net.weight.grad, utils.get_total_norm([torch.ones(3)], 1.0), utils.clip_grad_norm_([], 1.0)]


@case
def parameters_become_a_vector(torch):
    net = torch.nn.Linear(2, 2)
    vector = torch.nn.utils.parameters_to_vector(net.parameters())
    torch.nn.utils.vector_to_parameters(vector * 0 + 1, net.parameters())
    return [vector, net.weight, net.bias]


@case
def sequences_are_padded_and_packed(torch):
    rnn = torch.nn.utils.rnn
    items = [torch.arange(n).float() for n in (2, 4, 1)]
    packed = rnn.pack_sequence(items, enforce_sorted=False)
    return [
        rnn.pad_sequence(items), rnn.pad_sequence(items, batch_first=True, padding_value=-1, padding_side="left"), packed.data,
        packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices, rnn.pad_packed_sequence(packed, total_length=6, padding_value=9.0),
        rnn.unpack_sequence(packed), rnn.invert_permutation(torch.tensor([2, 0, 1])), packed.double().data,
    ]  # fmt: skip


@case
def weights_are_normalized(torch):
    net = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
    keys, value = list(net.state_dict()), net(torch.ones(1, 3))
    value.sum().backward()
    grads = [net.weight_g.grad, net.weight_v.grad]
    torch.nn.utils.remove_weight_norm(net)
    whole = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2), dim=None)
    return [keys, value, grads, list(net.state_dict()), net.weight, whole.weight_g, whole(torch.ones(1, 3))]


@case
def modules_are_called_with_other_tensors(torch):
    call = torch.nn.utils.stateless.functional_call
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    weight = torch.ones(2, 2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = call(net, {"0.weight": weight, "1.running_mean": torch.ones(2)}, (torch.tensor([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]]),))
    return [out, net[0].weight, net[1].running_mean]


@case
def initialisation_is_skipped(torch):
    return [repr(torch.nn.utils.skip_init(torch.nn.Linear, 2, 3)), str(torch.nn.utils.skip_init(torch.nn.Linear, 2, 3).weight.device)]


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_agrees_with_torch(function):
    assert _outcome(function, pytorchlike) == _outcome(function, torch)
