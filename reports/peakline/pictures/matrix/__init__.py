"""Pictures of matrix products.

The points of a sweep are measured on a warm card, whose clock its power limit sets anew for each.
Where sizes are compared, rates are therefore taken per clock.
"""
