"""Active plugins at work: their processes and connections, and what of them reaches agents."""
