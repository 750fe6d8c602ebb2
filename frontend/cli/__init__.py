"""`roost`, the command line: a client of the REST API, and of nothing else."""
