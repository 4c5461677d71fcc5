"""``torch._library``: where torch's own files of `torch.library` are imported from."""
