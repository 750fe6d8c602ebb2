from django.urls import path

from controlplane.portability.api import views

ORG = "orgs/<org:org>"

urlpatterns = [
    path(f"{ORG}/agents/<agt:agt>/exports", views.Exports.as_view()),
    path(f"{ORG}/agents/<agt:agt>/exports/<exp:exp>", views.OneExport.as_view()),
    path(f"{ORG}/imports", views.Imports.as_view()),
    path(f"{ORG}/imports/<imp:imp>", views.OneImport.as_view()),
    path(f"{ORG}/imports/<imp:imp>/agent", views.ImportAgent.as_view()),
]
