"""Postgres: the only package that knows the driver."""
