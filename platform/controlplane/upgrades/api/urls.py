from django.urls import path

from controlplane.upgrades.api import views

AGENT = "orgs/<org:org>/agents/<agt:agt>"

urlpatterns = [
    path(f"{AGENT}/upgrade", views.Upgrading.as_view()),
    path(f"{AGENT}/rollback", views.RollingBack.as_view()),
    path(f"{AGENT}/upgrades", views.Upgrades.as_view()),
    path(f"{AGENT}/upgrades/<upg:upg>", views.OneUpgrade.as_view()),
]
