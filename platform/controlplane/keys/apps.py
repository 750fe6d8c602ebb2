from django.apps import AppConfig
from django.conf import settings

from controlplane.keys.vault import get_vault
from controlplane.outbound.targets import check_settings


class KeysConfig(AppConfig):
    name = "controlplane.keys"

    def ready(self) -> None:
        """No start with settings that make no sense; no production on a vault that forgets."""
        check_settings()
        if settings.VAULT_MUST_BE_DURABLE:
            get_vault().refuse_forgetful()
