"""Calls of the losses (`pytorchlike/aten/loss.py`, `loss_margin.py`)."""

from .sample import Sample, T

FLOATING = ("float32", "float64")
F = "nn.functional."
LABELS = T(values=[0, 2, 1], dtype="int64")
IGNORED = T(values=[0, -100, 1], dtype="int64")
SIGNS = T(values=[1.0, -1.0, 1.0], grad=False)
LOGITS = T(3, 4)


def pixels(*shape):
    return T(*shape, dtype="int64", low=0, high=3)


SAMPLES = [
    Sample(F + "mse_loss", T(2, 3), T(2, 3), dtypes=FLOATING),
    Sample(F + "mse_loss", T(2, 3), T(3), reduction="sum"),
    Sample(F + "mse_loss", T(2, 3), T(2, 3, dtype="float64"), reduction="none"),
    Sample(F + "mse_loss", T(2, 3), T(2, 3), weight=T(2, 3, low=0.5)),
    Sample(F + "mse_loss", T(2, 3), T(2, 3), size_average=False),
    Sample(F + "l1_loss", T(values=[1.0, -2.0, 3.0]), T(values=[1.0, 2.0, -4.0]), dtypes=FLOATING),
    Sample(F + "l1_loss", T(2, 3), T(2, 3), reduction="none", weight=T(2, 3)),
    Sample(F + "smooth_l1_loss", T(values=[1.0, -2.0, 3.0, 0.5]), T(values=[1.0, 2.0, 4.0, 0.25]), dtypes=FLOATING),
    Sample(F + "smooth_l1_loss", T(2, 3), T(2, 3), beta=0.0, reduction="sum"),
    Sample(F + "huber_loss", T(values=[1.0, -2.0, 3.0, 0.5]), T(values=[1.0, 2.0, 4.0, 0.25]), dtypes=FLOATING),
    Sample(F + "huber_loss", T(2, 3), T(2, 3), "none", 0.5, T(2, 3)),
    Sample(F + "binary_cross_entropy", T(2, 3, low=0.05, high=0.95), T(2, 3, low=0.0, high=1.0), dtypes=FLOATING),
    Sample(
        F + "binary_cross_entropy",
        T(values=[0.0, 1.0, 0.5]),
        T(values=[0.0, 1.0, 1.0], grad=False),
        T(3, grad=False),
        reduction="sum",
        gradgrad=False,
    ),
    Sample(F + "binary_cross_entropy_with_logits", T(2, 3), T(2, 3), dtypes=FLOATING),
    Sample(
        F + "binary_cross_entropy_with_logits",
        T(2, 3, low=-99, high=99),
        T(2, 3),
        T(3, grad=False),
        reduction="none",
        pos_weight=T(3, low=0.1, grad=False),
    ),  # fmt: skip
    Sample(F + "kl_div", T(2, 3), T(2, 3, low=0.1), reduction="batchmean", dtypes=FLOATING),
    Sample(F + "kl_div", T(2, 3), T(values=[[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]], grad=False)),
    Sample(F + "kl_div", T(2, 3), T(2, 3), log_target=True, reduction="none"),
    Sample(F + "nll_loss", LOGITS, LABELS, dtypes=FLOATING),
    Sample(F + "nll_loss", LOGITS, IGNORED, T(4, grad=False), reduction="sum"),
    Sample(F + "nll_loss", LOGITS, IGNORED, T(4, low=0.5, grad=False)),
    Sample(F + "nll_loss", T(2, 3, 2, 4), pixels(2, 2, 4), reduction="none"),
    Sample(F + "nll_loss", T(2, 3, 5), pixels(2, 5), ignore_index=1),
    Sample(F + "nll_loss", T(4), T(values=2, dtype="int64")),
    Sample(F + "nll_loss", T(4), T(values=[2], dtype="int64"), grad=False),
    Sample(F + "cross_entropy", LOGITS, LABELS, dtypes=FLOATING),
    Sample(F + "cross_entropy", LOGITS, IGNORED, T(4, low=0.5, grad=False), label_smoothing=0.1),
    Sample(F + "cross_entropy", LOGITS, IGNORED, label_smoothing=0.1, reduction="none"),
    Sample(F + "cross_entropy", LOGITS, IGNORED, label_smoothing=0.1, reduction="sum"),
    Sample(F + "cross_entropy", T(2, 3, 2, 2), pixels(2, 2, 2), ignore_index=2, label_smoothing=0.2),
    Sample(F + "cross_entropy", T(2, 3, 5), pixels(2, 5)),
    Sample(F + "cross_entropy", T(4), T(values=2, dtype="int64")),
    Sample(F + "cross_entropy", LOGITS, T(values=[-100, -100, -100], dtype="int64"), gradgrad=False),
    Sample(F + "cross_entropy", T(0, 3), T(0, dtype="int64"), gradgrad=False),
    Sample(F + "cross_entropy", LOGITS, T(3, 4, low=0.0, high=1.0), dtypes=FLOATING),
    Sample(F + "cross_entropy", LOGITS, T(3, 4, low=0.0, high=1.0), T(4, low=0.5, grad=False), label_smoothing=0.1, reduction="sum"),
    Sample(F + "cross_entropy", T(2, 3, 4), T(2, 3, 4, low=0.0), reduction="none"),
    Sample(F + "cosine_embedding_loss", T(3, 4), T(3, 4), SIGNS, 0.1, dtypes=FLOATING),
    Sample(F + "cosine_embedding_loss", T(4), T(4), T(values=-1.0, grad=False), reduction="none"),
    Sample(F + "margin_ranking_loss", T(3), T(3), SIGNS, 0.5, dtypes=FLOATING),
    Sample(F + "margin_ranking_loss", T(values=[1.0, 1.0, 1.0]), T(values=[1.0, 1.0, 1.0]), SIGNS, reduction="sum"),
    Sample(F + "hinge_embedding_loss", T(3), SIGNS, dtypes=FLOATING),
    Sample(F + "hinge_embedding_loss", T(3), T(values=[1.0, 0.0, -1.0], grad=False), 2.0, reduction="none"),
    Sample(F + "soft_margin_loss", T(3), SIGNS, dtypes=FLOATING),
    Sample(F + "triplet_margin_loss", T(3, 4), T(3, 4), T(3, 4), dtypes=FLOATING),
    Sample(F + "triplet_margin_loss", T(3, 4), T(3, 4), T(3, 4), 2.0, 3, swap=True, reduction="none"),
    Sample(F + "multi_margin_loss", LOGITS, LABELS, dtypes=FLOATING, gradgrad=False),
    Sample(F + "multi_margin_loss", LOGITS, LABELS, 2, 0.5, T(4, grad=False), reduction="none", gradgrad=False),
    Sample(F + "multilabel_margin_loss", T(2, 4), T(values=[[3, 0, -1, 1], [-1, 2, 1, 0]], dtype="int64"), gradgrad=False),
    Sample(F + "multilabel_soft_margin_loss", T(2, 4), T(2, 4, low=0.0, high=1.0), T(4)),
    Sample(F + "poisson_nll_loss", T(2, 3), T(2, 3, low=0.0, high=5.0, grad=False), dtypes=FLOATING),
    Sample(F + "poisson_nll_loss", T(2, 3, low=0.1), T(2, 3, low=0.0, high=5.0, grad=False), False, True, reduction="sum"),
    Sample(F + "gaussian_nll_loss", T(2, 3), T(2, 3), T(2, 3, low=0.1), dtypes=FLOATING),
    Sample(F + "gaussian_nll_loss", T(2, 3), T(2, 3), T(values=[0.0, 0.5]), True, 0.25, "none"),
]

#: Calls that torch refuses: ours must raise the same error.
REFUSED = [
    Sample(F + "mse_loss", T(2, 3), T(2, 3), reduction="average"),
    Sample(F + "mse_loss", T(2, 3, dtype="int64"), T(2, 3, dtype="int64")),
    Sample(F + "mse_loss", T(2, 3), T(2, 3), weight=T(3)),
    Sample(F + "l1_loss", T(2, 3, dtype="int64"), T(2, 3, dtype="int64")),
    Sample(F + "smooth_l1_loss", T(2, 3), T(2, 3), beta=-1.0),
    Sample(F + "huber_loss", T(2, 3), T(2, 3), delta=0.0),
    Sample(F + "binary_cross_entropy", T(2, 3, low=1.5), T(2, 3)),
    Sample(F + "binary_cross_entropy", T(2, 3, low=0.1, high=0.9), T(2)),
    Sample(F + "binary_cross_entropy", T(2, 3, low=0.1, high=0.9), T(2, 3, dtype="float64")),
    Sample(F + "binary_cross_entropy_with_logits", T(2, 3), T(2)),
    Sample(F + "binary_cross_entropy_with_logits", T(2, 3), T(2, 3, dtype="int64")),
    Sample(F + "kl_div", T(2, 3), T(2, 3, dtype="int64")),
    Sample(F + "cross_entropy", T(2, 3), LABELS),
    Sample(F + "cross_entropy", LOGITS, T(3)),
    Sample(F + "cross_entropy", LOGITS, T(3, dtype="int32", low=0, high=3)),
    Sample(F + "cross_entropy", LOGITS, T(3, 4), ignore_index=1),
    Sample(F + "cross_entropy", LOGITS, T(3, 4, dtype="int64")),
    Sample(F + "cross_entropy", LOGITS, T(3, 5)),
    Sample(F + "cross_entropy", LOGITS, LABELS, T(2, grad=False)),
    Sample(F + "cross_entropy", LOGITS, T(3, 4), T(2)),
    Sample(F + "cross_entropy", T(2, 3, 4), pixels(2, 5)),
    Sample(F + "cross_entropy", LOGITS, LABELS, label_smoothing=1.5),
    Sample(F + "cross_entropy", LOGITS, LABELS, T(4, dtype="float64", grad=False)),
    Sample(F + "nll_loss", T(3, 2, 4, 4), pixels(3, 4, 5)),
    Sample(F + "nll_loss", T(3), T(values=[1, 2], dtype="int64")),
    Sample(F + "cosine_embedding_loss", T(2, 3), T(3), T(values=[1.0, -1.0])),
    Sample(F + "margin_ranking_loss", T(2, 3), T(2, 3), T(2)),
    Sample(F + "multi_margin_loss", T(2, 3), LABELS),
    Sample(F + "multi_margin_loss", LOGITS, T(values=[0, 5, 1], dtype="int64")),
    Sample(F + "multi_margin_loss", LOGITS, LABELS, p=3),
    Sample(F + "multilabel_margin_loss", T(2, 3), LABELS),
    Sample(F + "triplet_margin_loss", T(2, 3), T(2, 3), T(2)),
    Sample(F + "gaussian_nll_loss", T(2, 3), T(2, 3), T(4, low=0.1)),
]
