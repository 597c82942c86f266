"""How much of the server one person or address may use, so that there is something left for the others."""
