from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path, re_path

from controlplane.api.nowhere import Nowhere

# Operators sign in where everybody does, with the same limits on attempts.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/v1/", include("controlplane.api.v1")),
    re_path(r"^api(?:/|$)", Nowhere.as_view()),
    path("accounts/", include("controlplane.tenants.account_urls")),
    path("", include("frontend.urls")),
]
