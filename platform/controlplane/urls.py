from allauth.account.decorators import secure_admin_login
from allauth.account.models import EmailAddress
from django.contrib import admin
from django.contrib.auth.models import Group
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import include, path, re_path

from controlplane.api.nowhere import Nowhere

admin.site.site_header = admin.site.site_title = "Roost, for operators"
admin.site.index_title = "What there is"
# Rights hang on memberships, and addresses on users: these two pages would only mislead.
admin.site.unregister([Group, EmailAddress])
# Operators sign in where everybody does, with the same limits on attempts.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

urlpatterns = [
    path("admin/", admin.site.urls),
    path("favicon.ico", lambda _: redirect(static("frontend/favicon.svg"))),
    path("api/v1/", include("controlplane.api.v1")),
    re_path(r"^api(?:/|$)", Nowhere.as_view()),
    path("accounts/", include("controlplane.tenants.account_urls")),
    path("", include("frontend.urls")),
]
