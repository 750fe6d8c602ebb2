"""Addresses of the dashboard. The first part names the organisation; see frontend.pages."""

from django.urls import path, register_converter

from frontend.views import agents, chat, create, home, keys, logs, overview, settings, tokens, verbs


class VerbConverter:
    regex = "|".join(verbs.VERBS)

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(VerbConverter, "verb")
AGENT = "<slug:org>/agents/<slug:name>"
KEY = "<slug:org>/keys/<slug:key>"

app_name = "frontend"
urlpatterns = [
    path("", home.home, name="home"),
    path("<slug:org>/agents", agents.agents, name="agents"),
    path("<slug:org>/live/agents", agents.agents_live, name="agents_live"),
    path("<slug:org>/agents/new", create.create, name="create"),
    path("<slug:org>/live/agents/<slug:agent>", overview.overview_live, name="agent_live"),
    path(AGENT, overview.overview, name="agent"),
    path(f"{AGENT}/chat", chat.chat, name="chat"),
    path(f"{AGENT}/logs", logs.logs, name="logs"),
    path(f"{AGENT}/logs/follow", logs.follow, name="logs_follow"),
    path(f"{AGENT}/logs/download", logs.download, name="logs_download"),
    path(f"{AGENT}/settings", settings.settings, name="settings"),
    path(f"{AGENT}/delete", settings.delete, name="delete"),
    path(f"{AGENT}/<verb:verb>", verbs.verb, name="verb"),
    path("<slug:org>/tokens", tokens.tokens, name="tokens"),
    path("<slug:org>/tokens/issue", tokens.issue, name="issue_token"),
    path("<slug:org>/tokens/<slug:token>/revoke", tokens.revoke, name="revoke_token"),
    path("<slug:org>/keys", keys.keys, name="keys"),
    path("<slug:org>/keys/add", keys.add, name="add_key"),
    path(f"{KEY}/rotate", keys.rotate, name="rotate_key"),
    path(f"{KEY}/revoke", keys.revoke, name="revoke_key"),
]
