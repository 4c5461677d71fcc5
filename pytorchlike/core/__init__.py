"""Facts every layer needs: dtypes, devices, sizes, errors, per-thread state.  Imports nothing of ours."""
