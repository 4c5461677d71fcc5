"""The optimizers and settings that the tests run through: name, keyword arguments."""

OPTIMIZERS = [
    ("SGD", {}),
    ("SGD", {"weight_decay": 0.1, "maximize": True}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3}),
    ("Adam", {}),
    ("Adam", {"weight_decay": 0.1, "maximize": True, "betas": (0.8, 0.95)}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"weight_decay": 0.3, "amsgrad": True, "eps": 1e-3, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "momentum_decay": 0.1, "maximize": True}),
    ("RAdam", {}),
    ("RAdam", {"weight_decay": 0.1, "betas": (0.8, 0.9), "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"weight_decay": 0.1, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"rho": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "weight_decay": 0.1, "maximize": True}),
    ("RMSprop", {"centered": True, "momentum": 0.5, "alpha": 0.9, "eps": 1e-3}),
    ("ASGD", {}),
    ("ASGD", {"t0": 3, "lambd": 0.1, "alpha": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.1), "maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.1, "beta2_decay": -0.5, "eps": (1e-3, 1e-2), "d": 1.5, "weight_decay": 0.1, "maximize": True}),
    ("Muon", {}),
    ("Muon", {"lr": 0.02, "nesterov": False, "weight_decay": 0, "ns_steps": 3, "adjust_lr_fn": "match_rms_adamw"}),
]  # fmt: skip

#: The shapes of the parameters; the columns of the matrix are more than its rows and the other way round.
SHAPES = {"matrix": (3, 4), "vector": (5,), "scalar": ()}
SHAPES_OF = {"Muon": {"wide": (3, 4), "tall": (4, 2)}}

#: Tolerances after 50 steps where they are not those of the dtype.
TOLERANCES = {"Muon": 5e-3}  # steps of bfloat16 numbers, which are not rounded at the same places

#: Arguments that are refused.
REFUSED = {
    "SGD": [{"lr": -1}, {"momentum": -1}, {"weight_decay": -1}, {"nesterov": True}, {"nesterov": True, "momentum": 0.9, "dampening": 0.1},
            {"fused": True, "differentiable": True}, {"fused": True, "foreach": True}],
    "Adam": [{"lr": -1}, {"lr": float("nan")}, {"eps": -1}, {"betas": (-1, 0.9)}, {"betas": (0.9, 1.0)}, {"weight_decay": -1},
             {"fused": True, "differentiable": True}, {"fused": True, "foreach": True}],
    "AdamW": [{"lr": -1}],
    "Adagrad": [{"lr": -1}, {"lr_decay": -1}, {"weight_decay": -1}, {"initial_accumulator_value": -1}, {"eps": -1}],
    "RMSprop": [{"lr": -1}, {"eps": -1}, {"momentum": -1}, {"weight_decay": -1}, {"alpha": -1}],
    "Adamax": [{"lr": -1}, {"eps": -1}, {"betas": (-1, 0.9)}, {"betas": (0.9, 1.0)}, {"weight_decay": -1}],
    "Adadelta": [{"lr": -1}, {"rho": -1}, {"rho": 2}, {"eps": -1}, {"weight_decay": -1}],
    "NAdam": [{"lr": -1}, {"eps": -1}, {"betas": (0.9, 1.0)}, {"weight_decay": -1}, {"momentum_decay": -1}],
    "RAdam": [{"lr": -1}, {"eps": -1}, {"betas": (-1, 0.9)}, {"weight_decay": -1}],
    "ASGD": [{"lr": -1}, {"weight_decay": -1}],
    "Rprop": [{"lr": -1}, {"etas": (2, 3)}, {"etas": (0.5, 0.9)}],
    "Adafactor": [{"lr": -1}, {"beta2_decay": 1}, {"eps": (-1, 1)}, {"eps": (None, -1)}, {"d": 0.5}, {"weight_decay": -1}],
    "Muon": [{}, {"lr": -1}, {"momentum": -1}, {"weight_decay": -1}, {"adjust_lr_fn": "x"}],
    "SparseAdam": [{"lr": 0}, {"eps": 0}, {"betas": (-1, 0.9)}, {"betas": (0.9, 1.0)}],
    "LBFGS": [{"lr": -1}],
}  # fmt: skip
