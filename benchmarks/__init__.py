"""Benchmarks: what the platform adds to the SDK, measured side by side in one run."""
