"""Models by their shapes: parameters, FLOPs, and the bytes that decoding reads."""
