"""torch.utils.deterministic: new memory is always filled here, so the switch is only kept."""

fill_uninitialized_memory: bool = True
