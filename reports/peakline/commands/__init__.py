"""The commands: their options, what they read, and what they print."""
