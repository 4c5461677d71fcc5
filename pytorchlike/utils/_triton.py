"""torch.utils._triton: there is no Triton here."""

__all__ = ["has_triton", "has_triton_package"]


def has_triton() -> bool:
    """False: programs are compiled by XLA."""
    return False


def has_triton_package() -> bool:
    """False: programs are compiled by XLA."""
    return False
