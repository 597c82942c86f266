"""For authors of plugins: a platform to throw away, on which a plugin is tried, tested and developed."""
