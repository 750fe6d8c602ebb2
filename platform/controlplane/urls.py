from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/v1/", include("controlplane.api.v1")),
    path("accounts/", include("allauth.account.urls")),
    path("", include("frontend.urls")),
]
