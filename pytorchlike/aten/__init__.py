"""The operators, one file a family; each in one place: schema, forward in jax.numpy, derivative."""
