from django.apps import AppConfig


class PortabilityConfig(AppConfig):
    name = "controlplane.portability"
