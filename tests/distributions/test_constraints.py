"""Constraints and the registries of transforms that lead to them, against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pytorchlike

from .cases import numbers

_NAN = float("nan")
_REALS = [-1.5, -1.0, 0.0, 0.3, 1.0, 2.0, 7.0, _NAN]
_VECTORS = [[0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [-0.5, 1.0, 0.5], [0.5, 0.5, 0.1], [2.0, 3.0, 0.0]]
_MATRICES = [
    [[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [2.0, 3.0]], [[1.0, 0.5], [0.5, 2.0]], [[1.0, 2.0], [2.0, 1.0]], [[-1.0, 0.0], [0.0, 1.0]],
    [[0.0, 0.0], [0.0, 1.0]],
]  # fmt: skip

#: Constraint as a function of ``constraints`` and the library -> values it is checked on.
CONSTRAINTS = {
    "boolean": (lambda c, t: c.boolean, _REALS),
    "integer_interval": (lambda c, t: c.integer_interval(0, t.tensor(2.0)), _REALS),
    "nonnegative_integer": (lambda c, t: c.nonnegative_integer, _REALS),
    "positive_integer": (lambda c, t: c.positive_integer, _REALS),
    "integer_less_than": (lambda c, t: c._IntegerLessThan(1), _REALS),
    "real": (lambda c, t: c.real, _REALS),
    "positive": (lambda c, t: c.positive, _REALS),
    "nonnegative": (lambda c, t: c.nonnegative, _REALS),
    "greater_than": (lambda c, t: c.greater_than(0.3), _REALS),
    "greater_than_eq": (lambda c, t: c.greater_than_eq(0.3), _REALS),
    "less_than": (lambda c, t: c.less_than(0.3), _REALS),
    "unit_interval": (lambda c, t: c.unit_interval, _REALS),
    "interval": (lambda c, t: c.interval(t.tensor(-1.0), 1.0), _REALS),
    "half_open_interval": (lambda c, t: c.half_open_interval(-1.0, 1.0), _REALS),
    "real_vector": (lambda c, t: c.real_vector, [*_VECTORS, [0.0, _NAN, 1.0]]),
    "independent": (lambda c, t: c.independent(c.positive, 2), [_VECTORS[:2], _VECTORS[2:4]]),
    "simplex": (lambda c, t: c.simplex, _VECTORS),
    "one_hot": (lambda c, t: c.one_hot, _VECTORS),
    "multinomial": (lambda c, t: c.multinomial(3), _VECTORS),
    "MixtureSameFamilyConstraint": (lambda c, t: c.MixtureSameFamilyConstraint(c.positive), _VECTORS),
    "lower_triangular": (lambda c, t: c.lower_triangular, _MATRICES),
    "lower_cholesky": (lambda c, t: c.lower_cholesky, _MATRICES),
    "corr_cholesky": (lambda c, t: c.corr_cholesky, _MATRICES),
    "square": (lambda c, t: c.square, _MATRICES),
    "not square": (lambda c, t: c.square, [_VECTORS]),
    "symmetric": (lambda c, t: c.symmetric, _MATRICES),
    "not symmetric": (lambda c, t: c.symmetric, [_VECTORS]),
    "positive_semidefinite": (lambda c, t: c.positive_semidefinite, _MATRICES[2:]),
    "positive_definite": (lambda c, t: c.positive_definite, _MATRICES[2:]),
    "positive_definite of others": (lambda c, t: c.positive_definite, _MATRICES),
    "cat": (lambda c, t: c.cat([c.positive, c.boolean], dim=1, lengths=[1, 2]), _VECTORS),
    "stack": (lambda c, t: c.stack([c.positive, c.real, c.boolean], dim=-1), _VECTORS),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_check(name):
    make, values = CONSTRAINTS[name]
    results = []
    for t in (pytorchlike, torch):
        constraint = make(t.distributions.constraints, t)
        results.append((repr(constraint), constraint.event_dim, constraint.is_discrete, constraint.check(t.tensor(values)).tolist()))
    assert results[0] == results[1]


#: What raises, as functions of ``constraints`` and the library.
ERRORS = [
    lambda c, t: c.dependent.check(t.ones(2)),
    lambda c, t: c.dependent.event_dim,
    lambda c, t: c.dependent.is_discrete,
    lambda c, t: c.independent(3, 1),
    lambda c, t: c.independent(c.real, 1.5),
    lambda c, t: c.independent(c.real, -1),
    lambda c, t: c.independent(c.real, 2).check(t.ones(3)),
    lambda c, t: c.MixtureSameFamilyConstraint(3),
    lambda c, t: c.cat([c.real, 3]),
    lambda c, t: c.cat([c.real, c.real], lengths=[1]),
    lambda c, t: c.cat([c.real, c.real], dim=2).check(t.ones(3)),
    lambda c, t: c.stack([c.real, 3]),
    lambda c, t: c.stack([c.real, c.real], dim=2).check(t.ones(3)),
    lambda c, t: c.Constraint().check(t.ones(3)),
    lambda c, t: t.distributions.biject_to(c.lower_cholesky),
    lambda c, t: t.distributions.transform_to(c.boolean),
    lambda c, t: t.distributions.transform_to.register(3, lambda constraint: None),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    found = []
    for t in (pytorchlike, torch):
        with pytest.raises(Exception) as raised:
            ERRORS[number](t.distributions.constraints, t)
        found.append((raised.type, str(raised.value)))
    assert found[0] == found[1]


def test_what_is_known_of_a_dependent_constraint():
    c = pytorchlike.distributions.constraints
    assert c.is_dependent(c.dependent) and not c.is_dependent(c.real)
    assert c.dependent(event_dim=2)(is_discrete=True).event_dim == 2

    class Mine(pytorchlike.distributions.Distribution):
        @c.dependent_property(is_discrete=False, event_dim=1)
        def support(self):
            return c.simplex

    assert c.is_dependent(Mine.support) and Mine.support.event_dim == 1 and not Mine.support.is_discrete
    assert Mine(validate_args=False).support is c.simplex


#: Constraint -> values without constraints, for each registry's transform.
REGISTERED = {
    name: ([0.5, -1.0, 2.0] if np.ndim(CONSTRAINTS[name][1]) == 1 else [[0.5, -1.0, 2.0], [0.1, 0.2, 0.3]])
    for name in ("real", "positive", "nonnegative", "greater_than", "greater_than_eq", "less_than", "unit_interval", "interval",
                 "half_open_interval", "real_vector", "independent", "simplex", "corr_cholesky", "cat", "stack", "lower_cholesky",
                 "positive_definite", "positive_semidefinite")
}  # fmt: skip
MATRIX_VALUES = ("lower_cholesky", "positive_definite", "positive_semidefinite")
#: The registered part of those that have others as parts.
PARTS = {
    "cat": lambda c, t: c.cat([c.positive, c.real], dim=-1, lengths=[1, 2]),
    "stack": lambda c, t: c.stack([c.positive, c.real, c.unit_interval], -1),
}


@pytest.mark.parametrize("name", REGISTERED)
def test_registered_transforms(name):
    make = PARTS.get(name, CONSTRAINTS[name][0])
    values = [[0.5, -1.0], [2.0, 0.3]] if name in MATRIX_VALUES else REGISTERED[name]
    for registry in ("biject_to", "transform_to"):
        results = []
        for t in (pytorchlike, torch):
            constraint = make(t.distributions.constraints, t)
            try:
                transform = getattr(t.distributions, registry)(constraint)
            except NotImplementedError as error:
                results.append(str(error))
                continue
            y = transform(t.tensor(values))
            assert constraint.check(y).all()
            back = transform(transform.inv(y))
            results.append((repr(transform), numbers(y), numbers(back), transform.bijective))
        if isinstance(results[1], str):
            assert results[0] == results[1]
            continue
        assert (results[0][0], results[0][3]) == (results[1][0], results[1][3])
        np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(results[0][2], results[0][1], rtol=1e-4, atol=1e-5)


def test_own_registrations():
    D = pytorchlike.distributions
    registry = D.constraint_registry.ConstraintRegistry()

    class Mine(D.constraints.Constraint):
        pass

    @registry.register(Mine)
    def factory(constraint):
        return D.ExpTransform()

    registry.register(D.constraints.boolean, lambda constraint: D.identity_transform)
    assert registry(Mine()) == D.ExpTransform() and registry(D.constraints.boolean) is D.identity_transform
