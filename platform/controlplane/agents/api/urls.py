from django.urls import path

from controlplane.agents import actions
from controlplane.agents.api import (
    checkpoints,
    disk,
    investigations,
    releases,
    streams,
    timeline,
    views,
)

AGENT = "orgs/<org:org>/agents/<agt:agt>"

urlpatterns = [
    path("orgs/<org:org>/agents", views.Agents.as_view()),
    path(AGENT, views.OneAgent.as_view()),
    path(
        f"{AGENT}/start",
        views.verb_view("start", actions.start_agent, "Start; also out of failed, crash_looping."),
    ),
    path(
        f"{AGENT}/stop",
        views.verb_view("stop", actions.stop_agent, "Stop; the workspace is kept."),
    ),
    path(
        f"{AGENT}/restart",
        views.verb_view("restart", actions.restart_agent, "A new container, freshly read keys."),
    ),
    path(f"{AGENT}/restore", views.RestoreAgent.as_view()),
    path(f"{AGENT}/releases", releases.Releases.as_view()),
    path(f"{AGENT}/releases/<rel:rel>", releases.OneRelease.as_view()),
    path(f"{AGENT}/events", views.Events.as_view()),
    path(f"{AGENT}/events/stream", timeline.EventStream.as_view()),
    path(f"{AGENT}/disk", disk.Disk.as_view()),
    path(f"{AGENT}/messages", streams.Messages.as_view()),
    path(f"{AGENT}/conversations", streams.Conversations.as_view()),
    path(f"{AGENT}/investigations", investigations.Investigations.as_view()),
    path(f"{AGENT}/investigations/<inv:inv>", investigations.OneInvestigation.as_view()),
    path(f"{AGENT}/logs", streams.Logs.as_view()),
    path(f"{AGENT}/checkpoints", checkpoints.Checkpoints.as_view()),
]
