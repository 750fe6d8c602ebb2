"""Upgrades: an agent is moved to another image, watched, and moved back if that does not go well.

`run` is one upgrade from claim to outcome; `checking` says whether it may begin, `health` waits for
the new release, `losses` compares configuration, `back` undoes it, `ending` tells how it went.
"""
