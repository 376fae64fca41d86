"""Benchmarks of stepgp against its peers; outside the package, run from the repository root."""
