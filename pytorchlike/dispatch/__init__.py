"""Operator objects: what is declared once for each, and everything derived from it."""
