"""The commands: options, input and output."""
