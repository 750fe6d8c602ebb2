"""Durable disks, by the driver this node was set up for; backend.py chooses."""
