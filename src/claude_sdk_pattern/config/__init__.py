"""Settings and structured logging."""
