from django.urls import path

from controlplane.tenants.api import views

urlpatterns = [
    path("orgs", views.Organisations.as_view()),
    path("orgs/<org:org>", views.OneOrganisation.as_view()),
    path("orgs/<org:org>/tokens", views.Tokens.as_view()),
    path("orgs/<org:org>/tokens/<tok:tok>", views.OneToken.as_view()),
]
