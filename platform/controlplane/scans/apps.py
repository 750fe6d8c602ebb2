from django.apps import AppConfig


class ScansConfig(AppConfig):
    name = "controlplane.scans"
