"""What a deployment adds: manifests, packages, the registry that knows their states, and their secrets."""
