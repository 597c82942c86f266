"""The only door from an agent process to a model, and the scripted model that can stand behind it."""
