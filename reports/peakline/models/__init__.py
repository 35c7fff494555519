"""Parameters, FLOPs and decoding bytes of models, from their shapes."""
