from django.apps import AppConfig
from django.core.checks import register

from controlplane.trials.checks import check_plan


class TrialsConfig(AppConfig):
    name = "controlplane.trials"

    def ready(self) -> None:
        register(check_plan)
