"""The database: engine, tables and migrations. Rooms further in know their rows; this one knows SQL dialects."""
