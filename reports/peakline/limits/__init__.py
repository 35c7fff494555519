"""What a device's ceilings allow: of kernels, of collectives, of work that is stated."""
