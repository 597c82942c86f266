"""The HTTP and WebSocket edge: thin routers that decide nothing themselves."""
