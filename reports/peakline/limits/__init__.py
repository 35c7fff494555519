"""Limits from a device's ceilings: rooflines, times of collectives, least times of stated work."""
