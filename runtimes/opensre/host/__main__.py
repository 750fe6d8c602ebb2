"""Read what boot.py left, listen, and load OpenSRE meanwhile."""

import gc
import os
from importlib import import_module
from pathlib import Path

import uvicorn

from runtimes.opensre.host import config
from runtimes.opensre.host.app import host
from runtimes.opensre.host.engine import Engine
from runtimes.opensre.host.loading import Loading
from runtimes.opensre.host.store import Store
from runtimes.opensre.host.turns import Turns
from runtimes.opensre.host.work import Work

PORT = 8080
DATABASE = ".opensre/roost.db"
# After that turns are cut off. A longer wait would seldom save one, and delays every restart.
GRACE_S = 5


def main() -> None:
    given = config.read(Path(os.environ["OPENSRE_HOST_CONFIG"]))

    def load() -> Engine:
        gc.disable()  # among modules it finds nothing, for a fifth of the time that loading takes
        try:
            engine: Engine = import_module("runtimes.opensre.host.opensre").OpenSRE(given)
            return engine
        finally:
            gc.freeze()
            gc.enable()

    store = Store(Path(os.environ["HOME"]) / DATABASE)
    store.interrupt()
    engine = Loading(load)
    turns = Turns(store, engine, Work(), secrets=(given.key, given.token))
    uvicorn.run(
        host(store, turns, given.token, engine.lifespan),
        host="0.0.0.0",  # noqa: S104  the container's own address
        port=PORT,
        timeout_graceful_shutdown=GRACE_S,
        access_log=False,  # the platform asks every few seconds whether the agent is well
        server_header=False,
    )


main()
