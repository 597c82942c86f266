"""What the server counts and measures about itself."""
