"""Pictures of GEMMs.

Sweeps run on a warm card, whose power limit sets the clock anew for each point, so pictures that
compare sizes show rates per clock.
"""
