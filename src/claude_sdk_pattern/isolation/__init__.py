"""Where an agent process runs, and what it can see of the machine around it."""
