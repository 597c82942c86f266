"""What runs inside a plugin's own process: the program that loads the plugin's Python and answers for it."""
