"""Where settings come from: the environment, read once, failing at start with a name."""

import environ

env = environ.Env()
