"""Tensors: storages, geometries and views, the tape's data, conversion, indexing, printing and random streams."""
