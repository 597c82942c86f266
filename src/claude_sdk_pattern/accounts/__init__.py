"""Who people are, how they prove it, and who may do what to which session."""
