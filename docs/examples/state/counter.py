"""A counter that survives kill -9: what it has said, it knows."""

import roost_state

n = roost_state.load("counter", 0)
while True:
    n += 1
    roost_state.save("counter", n)  # on the disk from here on ...
    print(n, flush=True)  # ... so only now it is said
