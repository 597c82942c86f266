"""Sessions: durable conversations and the agent processes that answer in them."""
