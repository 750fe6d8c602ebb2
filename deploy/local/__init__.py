"""A whole Roost on one machine, started and stopped by one command (`make up`, `make down`)."""
