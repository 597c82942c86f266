"""Where an agent process runs: behind bubblewrap's walls with doors of its own, or as a plain process."""
