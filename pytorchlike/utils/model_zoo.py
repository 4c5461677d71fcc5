"""``torch.utils.model_zoo``: the old name of ``torch.hub.load_state_dict_from_url``."""

from typing import Any

from .. import hub
from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


def __getattr__(name: str) -> Any:
    """`tqdm`, which is looked for when it is asked for, as in `hub`."""
    return hub.__getattr__(name)
