from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "controlplane.api"

    def ready(self) -> None:
        from controlplane.api import schema  # noqa: F401  registers itself with the generator
