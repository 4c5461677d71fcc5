"""The connectionist temporal classification loss (Graves et al., 2006): forward and backward recursions in log space."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from ..core.dtype import int64
from ..dispatch.registry import FUNCTION, composite, op
from .constructors import tensor as make
from .loss import PUBLIC, reduction_of
from .reduce import scalar_type

_REDUCTIONS = ("none", "mean", "sum")
_WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


# --- the recursions -----------------------------------------------------------------------------------------------------------------


def _log_sum(*terms):
    """``log(sum(exp(terms)))``, -inf where all are."""
    highest = jnp.stack(terms).max(0)
    shift = jnp.where(jnp.isneginf(highest), 0, highest)
    return jnp.log(sum(jnp.exp(t - shift) for t in terms)) + shift


def _states(targets, blank: int):
    """The targets with a blank around each, and where the state two before holds another label, so that the blank may be left out."""
    batch, length = targets.shape
    labels = jnp.full((batch, 2 * length + 1), blank, jnp.int32).at[:, 1::2].set(targets.astype(jnp.int32))
    differs = jnp.pad(labels[:, 2:] != labels[:, :-2], ((0, 0), (2, 0)))[:, : labels.shape[1]]
    return labels, differs


def _scores(log_probs, labels):
    """The log probability of every state's label at every time: (time, batch, states)."""
    return jnp.take_along_axis(log_probs, jnp.broadcast_to(labels, (log_probs.shape[0], *labels.shape)), -1, mode="clip")


def _shifted(a, by: int):
    """States moved by some places, -inf where none come in."""
    moved = jnp.pad(a, ((0, 0), (max(by, 0), max(-by, 0))), constant_values=-jnp.inf)
    return moved[:, : a.shape[1]] if by > 0 else moved[:, -by:]


def _forward(scores, differs):
    """``alpha``: the log probability of all ways to be in a state at a time."""
    first = jnp.where(jnp.arange(scores.shape[2]) < 2, scores[0], -jnp.inf)

    def step(before, score):
        skip = jnp.where(differs, _shifted(before, 2), -jnp.inf)
        now = _log_sum(before, _shifted(before, 1), skip) + score
        return now, now

    _, later = lax.scan(step, first, scores[1:])
    return jnp.concatenate([first[None], later])


def _backward(scores, differs, input_lengths, target_lengths):
    """``beta``: the log probability of all ways to go on from a state, its own score included."""
    state = jnp.arange(scores.shape[2])
    ends = (state == 2 * target_lengths[:, None]) | (state == 2 * target_lengths[:, None] - 1)
    may_skip = jnp.pad(differs[:, 2:], ((0, 0), (0, 2)))[:, : differs.shape[1]]

    def step(after, now):
        time, score = now
        skip = jnp.where(may_skip, _shifted(after, -2), -jnp.inf)
        inside = _log_sum(after, _shifted(after, -1), skip) + score
        beta = jnp.where((time == input_lengths - 1)[:, None], jnp.where(ends, score, -jnp.inf), inside)
        return beta, beta

    start = jnp.full_like(scores[0], -jnp.inf)
    _, betas = lax.scan(step, start, (jnp.arange(scores.shape[0]), scores), reverse=True)
    return betas


def _total(alpha, input_lengths, target_lengths):
    """The negative log likelihood of every target."""
    last = jnp.take_along_axis(alpha, jnp.maximum(input_lengths - 1, 0)[None, :, None], 0, mode="clip")[0]
    final = jnp.take_along_axis(last, 2 * target_lengths[:, None], 1, mode="clip")[:, 0]
    before = jnp.take_along_axis(last, jnp.maximum(2 * target_lengths - 1, 0)[:, None], 1, mode="clip")[:, 0]
    before = jnp.where(target_lengths == 0, -jnp.inf, before)
    nothing = jnp.where(target_lengths == 0, 0.0, -jnp.inf).astype(alpha.dtype)
    return -jnp.where(input_lengths == 0, nothing, _log_sum(final, before))


# --- the operator -------------------------------------------------------------------------------------------------------------------


@op(
    "_ctc_loss.padded(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank, bool zero_infinity) "
    "-> (Tensor, Tensor)",
    forms=FUNCTION,
    namespaces=(),
)
def padded_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    """The losses of a batch, and ``alpha`` for the gradient; torch names the node after ``ctc_loss``."""
    labels, differs = _states(targets, blank)
    alpha = _forward(_scores(log_probs, labels), differs)
    return _total(alpha, input_lengths, target_lengths), alpha


@padded_loss.grad("log_probs")
def _(g, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, result0, result1):
    """Torch's gradient takes ``log_probs`` for the result of a log_softmax: what the latter gets is then the true gradient."""
    labels, differs = _states(targets, blank)
    scores = _scores(log_probs, labels)
    beta = _backward(scores, differs, input_lengths, target_lengths)
    joint = result1 + beta
    through = jnp.where(jnp.isneginf(joint), -jnp.inf, joint - scores)  # both hold the score
    highest = through.max(-1, keepdims=True)
    shift = jnp.where(jnp.isneginf(highest), 0, highest)
    time, batch, classes = log_probs.shape
    at = (jnp.arange(time)[:, None, None], jnp.arange(batch)[None, :, None], labels[None])
    summed = jnp.zeros((time, batch, classes), log_probs.dtype).at[at].add(jnp.exp(through - shift), mode="drop")
    loss = result0[:, None]
    posterior = jnp.exp(jnp.log(summed) + shift + loss)
    # torch computes infinity minus infinity for labels of probability 0 and for infinite losses
    posterior = jnp.where(jnp.isneginf(log_probs) | jnp.isposinf(loss), jnp.nan, posterior)
    gradient = (jnp.exp(log_probs) - posterior) * g[0][:, None]
    if zero_infinity:
        gradient = jnp.where(jnp.isposinf(loss), 0, gradient)
    return jnp.where((jnp.arange(time)[:, None] < input_lengths)[..., None], gradient, 0)


@padded_loss.check
def _(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    if scalar_type(log_probs.dtype) not in ("Float", "Double"):
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{scalar_type(log_probs.dtype)}'")


# --- arguments ----------------------------------------------------------------------------------------------------------------------


def _lengths_of(lengths: Any, name: str) -> list[int]:
    """Lengths as numbers: torch reads them too, to check them and to find the longest target."""
    if hasattr(lengths, "tolist"):
        if lengths.is_floating_point() or lengths.is_complex():
            raise RuntimeError(f"{name} must be integral")
        return [int(n) for n in lengths.reshape(-1).tolist()]
    return [int(n) for n in (lengths if isinstance(lengths, (tuple, list)) else (lengths,))]


def _check_lengths(lengths: list[int], name: str, batch: int, most: int | None) -> None:
    if len(lengths) != batch:
        raise RuntimeError(f"{name} must be of size batch_size")
    for n in lengths:
        if n < 0:
            raise RuntimeError(f"Expected {name} to have value at least 0, but got value {n} {_WHERE}")
        if most is not None and n > most:
            raise RuntimeError(f"Expected {name} to have value at most {most}, but got value {n} {_WHERE}")


def _padded(targets, lengths: list[int]):
    """Concatenated targets as one row for each; rows are as long as the next power of two, so that few lengths compile anew."""
    total = sum(lengths)
    if targets.size(0) != total:
        raise RuntimeError(
            f"Expected tensor to have size {total} at dimension 0, but got size {targets.size(0)} for argument #2 'targets' {_WHERE}"
        )
    width = 1 << max(max(lengths) - 1, 0).bit_length()
    if total == 0:
        return targets.new_zeros((len(lengths), 0))
    places, start = [], 0
    for n in lengths:
        places.append([start + k if k < n else 0 for k in range(width)])
        start += n
    return targets[make(places, device=targets.device)]


def _losses(log_probs, targets, input_lengths, target_lengths, blank: int, reduction: str, zero_infinity: bool):
    batched = log_probs.dim() == 3
    if log_probs.numel() == 0:
        raise RuntimeError("log_probs tensor must not be empty")
    rows = log_probs if batched else log_probs.unsqueeze(1)
    inputs, lengths = _lengths_of(input_lengths, "input_lengths"), _lengths_of(target_lengths, "target_lengths")
    if rows.dim() != 3:
        raise RuntimeError(f"Expected 3-dimensional tensor, but got {rows.dim()}-dimensional tensor for argument #1 'log_probs' {_WHERE}")
    if targets.dim() not in (1, 2):
        raise RuntimeError(f"Expected 1 to 2 dimensions, but got {targets.dim()}-dimensional tensor for argument #2 'targets' {_WHERE}")
    time, batch, classes = rows.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    _check_lengths(inputs, "input_lengths", batch, time)
    _check_lengths(lengths, "target_lengths", batch, None)
    if targets.dim() == 1:
        targets = _padded(targets, lengths)
    elif targets.size(0) != batch:
        raise RuntimeError(
            f"Expected tensor to have size {batch} at dimension 0, but got size {targets.size(0)} for argument #2 'targets' {_WHERE}"
        )
    elif targets.size(1) < max(lengths):
        raise RuntimeError(
            f"Expected tensor to have size at least {max(lengths)} at dimension 1, but got size {targets.size(1)} "
            f"for argument #2 'targets' {_WHERE}"
        )
    counts = make(lengths, dtype=int64, device=rows.device)
    found, _ = padded_loss(rows, targets, make(inputs, dtype=int64, device=rows.device), counts, blank, zero_infinity)
    if zero_infinity:
        found = found.masked_fill(found == float("inf"), 0.0)
    if reduction == "mean":
        return (found / counts.clamp(min=1)).mean()
    if reduction == "sum":
        return found.sum()
    return found if batched else found.squeeze(0)


@composite(
    "ctc_loss(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, str reduction='mean', "
    "bool zero_infinity=False) -> Tensor",
    forms=FUNCTION,
    namespaces=PUBLIC,
)
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The loss of targets of which it is not known which input belongs to which label.

    Args:
        log_probs: ``(time, batch, classes)`` or ``(time, classes)``, the result of a log_softmax.
        targets: padded ``(batch, length)``, or concatenated.
        zero_infinity: losses of targets that are longer than their input count as 0, with a gradient of 0.
    """
    return _losses(log_probs, targets, input_lengths, target_lengths, blank, reduction_of(reduction), zero_infinity)


@composite(
    "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int reduction=1, "
    "bool zero_infinity=False) -> Tensor",
    forms=FUNCTION,
)
def native_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    """`ctc_loss` with the reduction as torch's number for it: none, mean, sum."""
    return _losses(log_probs, targets, input_lengths, target_lengths, blank, _REDUCTIONS[reduction], zero_infinity)
