"""Every endpoint of version 1. A second version is a second file."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from controlplane.api import converters  # noqa: F401  the paths below use them

app_name = "v1"
urlpatterns = [
    path("", include("controlplane.tenants.api.urls")),
    path("", include("controlplane.keys.api.urls")),
    path("", include("controlplane.agents.api.urls")),
    path("", include("controlplane.agents.api.keyring_urls")),
    path("", include("controlplane.scans.api.urls")),
    path("", include("controlplane.snapshots.api.urls")),
    path("", include("controlplane.drills.api.urls")),
    path("", include("controlplane.trials.api.urls")),
    path("", include("controlplane.upgrades.api.urls")),
    path("", include("controlplane.portability.api.urls")),
    path("schema", SpectacularAPIView.as_view(), name="schema"),
]
