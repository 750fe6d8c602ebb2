"""Durable disks. `driver()` gives the one this node was set up for."""
