"""Alembic migrations, one module per change under ``versions``."""
