"""The server in an OpenSRE container: chat with history, investigations, over one small HTTP API.

OpenSRE brings an investigation server and, as loose nodes, a chat; neither keeps what was said,
streams, or survives a kill. This package drives OpenSRE's own parts and keeps the rest in SQLite.

    door, app          who is let in, what can be asked
    turns, work        what happens then, and that it goes on when nobody listens
    store              what outlives a kill
    engine, loading    what of OpenSRE the above needs, and waiting for it
    opensre            OpenSRE itself: chatting, investigating, models

It runs as `python -I -m runtimes.opensre.host` in the image, where it is the only part of Roost.
Only `opensre` and what it names import OpenSRE.
"""
