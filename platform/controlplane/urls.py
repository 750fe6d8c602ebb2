from django.contrib import admin
from django.urls import include, path, re_path

from controlplane.api.nowhere import Nowhere

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/v1/", include("controlplane.api.v1")),
    re_path(r"^api(?:/|$)", Nowhere.as_view()),
    path("accounts/", include("allauth.account.urls")),
    path("", include("frontend.urls")),
]
