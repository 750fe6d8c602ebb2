import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from provisioner.backend import get_backend
from provisioner.node import run


class Command(BaseCommand):
    help = "Run this node: watch, sweep, rounds, resolver. Ends politely on SIGTERM."

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        run(get_backend(), stop)
