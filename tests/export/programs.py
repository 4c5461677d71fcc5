"""Small modules that are exported in tests: name -> (module, arguments, keywords, what may differ), for torch or pytorchlike."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

__all__ = ["PROGRAMS"]

Pair = collections.namedtuple("Pair", "a b")

PROGRAMS: dict[str, Callable[[Any], tuple]] = {}


def _program(make: Callable[[Any], tuple]) -> Callable[[Any], tuple]:
    PROGRAMS[make.__name__] = make
    return make


@_program
def linear(t):
    return t.nn.Sequential(t.nn.Linear(3, 2), t.nn.ReLU()), (t.ones(4, 3),), {}, lambda D: ({0: D("batch")},)


@_program
def convolution(t):
    class Module(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = t.nn.Conv2d(1, 2, 3), t.nn.BatchNorm2d(2)

        def forward(self, x):
            return self.norm(self.conv(x)).relu()

    return Module(), (t.arange(50.0).view(2, 1, 5, 5),), {}, None


@_program
def transformer(t):
    layer = t.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    return layer, (t.arange(40.0).view(2, 5, 4) / 40,), {}, lambda D: ({0: D("batch"), 1: D("length")},)


@_program
def several(t):
    class Module(t.nn.Module):
        def forward(self, x, y):
            return x + y, x - y, x, 3, None, "a"

    return Module(), (t.ones(3), t.ones(3)), {}, None


@_program
def dictionaries(t):
    class Module(t.nn.Module):
        def forward(self, d, pair):
            return {"z": d["a"] + pair[0], "y": [pair[1][0] + 1, {"q": d["b"] * 2}]}

    return Module(), ({"a": t.ones(3), "b": t.ones(3)}, (t.ones(3), [t.ones(3)])), {}, None


@_program
def namedtuples(t):
    class Module(t.nn.Module):
        def forward(self, p):
            return Pair(p.a + 1, p.b * 2)

    return Module(), (Pair(t.ones(3), t.ones(3)),), {}, None


@_program
def keywords(t):
    class Module(t.nn.Module):
        def forward(self, x, *, scale=2.0, y=None):
            return x * scale + y

    return Module(), (t.ones(3),), {"y": t.ones(3), "scale": 3.0}, None


@_program
def optional(t):
    class Module(t.nn.Module):
        def forward(self, x, y=None, z=None):
            return x if y is None else x + y

    return Module(), (t.ones(3), None, 3), {}, None


@_program
def constants(t):
    class Module(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.plain, self.number = t.ones(3), 2

        def forward(self, x):
            return x + self.plain + t.tensor([1.0, 2.0, 3.0]) * self.number

    return Module(), (t.ones(3),), {}, None


@_program
def tied(t):
    class Module(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = t.nn.Embedding(5, 3), t.nn.Linear(3, 5, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, x):
            return self.head(self.embed(x))

    return Module(), (t.tensor([1, 2]),), {}, None


@_program
def twice(t):
    class Module(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = t.nn.Linear(3, 3)
            self.again = self.first
            self.rest = t.nn.Sequential(self.first, t.nn.ReLU())

        def forward(self, x):
            return self.again(self.rest(x))

    return Module(), (t.ones(3),), {}, None


@_program
def buffers(t):
    class Module(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", t.ones(3))
            self.register_buffer("hidden", t.ones(3), persistent=False)
            self.register_buffer("unused", t.ones(2))
            self.register_buffer("count", t.tensor(0))
            self.weight = t.nn.Parameter(t.ones(3))
            self.frozen = t.nn.Parameter(t.ones(2), requires_grad=False)

        def forward(self, x):
            self.count += 1
            self.kept.mul_(2)
            return x + self.kept + self.hidden + self.count

    return Module(), (t.ones(3),), {}, None


@_program
def assigned(t):
    class Module(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("state", t.ones(3))

        def forward(self, x):
            self.state = self.state + x
            return self.state * 2

    return Module(), (t.ones(3),), {}, None


@_program
def written(t):
    class Module(t.nn.Module):
        def forward(self, x, y):
            x.add_(1)
            y[0] = x.sum()
            return x * 2

    return Module(), (t.ones(2, 3), t.ones(3)), {}, None


@_program
def written_view(t):
    class Module(t.nn.Module):
        def forward(self, x):
            row = x[0]
            row.mul_(3)
            return x.sum(), row * 1

    return Module(), (t.ones(2, 3),), {}, None


@_program
def conditional(t):
    class Module(t.nn.Module):
        def forward(self, x):
            return t.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))

    return Module(), (t.ones(3),), {}, None


@_program
def alike(t):
    class Module(t.nn.Module):
        def forward(self, x):
            y = x * 2
            return y, y, x

    return Module(), (t.ones(3),), {}, None


@_program
def state_returned(t):
    class Module(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("state", t.ones(3))
            self.weight = t.nn.Parameter(t.ones(3))

        def forward(self, x):
            return self.state, self.weight, x + self.weight

    return Module(), (t.ones(3),), {}, None


@_program
def sizes(t):
    class Module(t.nn.Module):
        def forward(self, x):
            return x * 2, x.shape[0], x.size(0) * 2 + 1

    return Module(), (t.ones(4, 3),), {}, lambda D: ({0: D("rows")},)


@_program
def lists(t):
    class Module(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = t.nn.ModuleList([t.nn.Linear(3, 3), t.nn.Linear(3, 3)])
            self.named = t.nn.ParameterDict({"k": t.nn.Parameter(t.ones(3))})
            self.more = t.nn.ParameterList([t.nn.Parameter(t.ones(3))])

        def forward(self, X, Y_b):
            for layer in self.layers:
                X = layer(X)
            return X * self.named["k"] + self.more[0] + Y_b["Key"] + Y_b[0]

    return Module(), (t.ones(3), {"Key": t.ones(3), 0: t.ones(3)}), {}, None
