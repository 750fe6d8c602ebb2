"""Addresses of the dashboard. The first part names the organisation; see frontend.pages."""

from django.urls import path, register_converter

from frontend.views import (
    agents,
    chat,
    checkpoints,
    comparing,
    create,
    deleted,
    drills,
    exports,
    forks,
    home,
    imports,
    keys,
    logs,
    overview,
    releases,
    restores,
    scans,
    schedules,
    secrets,
    settings,
    snapshots,
    tokens,
    trials,
    verbs,
    web,
)


class VerbConverter:
    regex = "|".join(verbs.VERBS)

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(VerbConverter, "verb")
AGENT = "<slug:org>/agents/<slug:name>"
SNP = f"{AGENT}/snapshots/<slug:snapshot>"
KEY = "<slug:org>/keys/<slug:key>"
SEC = "<slug:org>/secrets/<slug:secret>"

app_name = "frontend"
urlpatterns = [
    path("", home.home, name="home"),
    path("<slug:org>/agents", agents.agents, name="agents"),
    path("<slug:org>/live/agents", agents.agents_live, name="agents_live"),
    path("<slug:org>/agents/new", create.create, name="create"),
    path("<slug:org>/imports/begin", imports.begin, name="begin_import"),
    path("<slug:org>/imports/<slug:upload>", imports.upload, name="import"),
    path("<slug:org>/live/agents/<slug:agent>", overview.overview_live, name="agent_live"),
    path("<slug:org>/trial-restores", trials.trials, name="trials"),
    path("<slug:org>/deleted/<slug:agent>/restore", deleted.restore, name="restore"),
    path(AGENT, overview.overview, name="agent"),
    path(f"{AGENT}/chat", chat.chat, name="chat"),
    path(f"{AGENT}/logs", logs.logs, name="logs"),
    path(f"{AGENT}/logs/follow", logs.follow, name="logs_follow"),
    path(f"{AGENT}/logs/download", logs.download, name="logs_download"),
    path(f"{AGENT}/checkpoints", checkpoints.checkpoints, name="checkpoints"),
    path(f"{AGENT}/snapshots", snapshots.snapshots, name="snapshots"),
    path(f"{AGENT}/snapshots/take", snapshots.take, name="take_snapshot"),
    path(f"{AGENT}/snapshots/plan", schedules.plan, name="snapshot_plan"),
    path(f"{AGENT}/snapshots/compare", comparing.compare, name="compare_snapshots"),
    path(f"{AGENT}/snapshots/compare/text", comparing.text, name="compare_text"),
    path(f"{SNP}/row", snapshots.row, name="snapshot_row"),
    path(f"{SNP}/delete", snapshots.delete, name="delete_snapshot"),
    path(f"{SNP}/restore", restores.ask, name="restore_snapshot"),
    path(f"{SNP}/restore-file", restores.ask_file, name="restore_file"),
    path(f"{SNP}/export", exports.export_snapshot, name="export_snapshot"),
    path(f"{AGENT}/exports", exports.exports, name="exports"),
    path(f"{AGENT}/exports/new", exports.export, name="export"),
    path(f"{AGENT}/exports/<slug:export>/download", exports.download, name="download_export"),
    path(f"{SNP}/fork", forks.ask, name="fork_snapshot"),
    path(f"{AGENT}/restores/<slug:restore>", restores.restore, name="agent_restore"),
    path(f"{AGENT}/settings", settings.settings, name="settings"),
    path(f"{AGENT}/delete", settings.delete, name="delete"),
    path(f"{AGENT}/web", web.web, name="web"),
    path(f"{AGENT}/drills", drills.drills, name="drills"),
    path(f"{AGENT}/drills/plan", drills.plan, name="drill_plan"),
    path(f"{AGENT}/drills/<slug:drill>", drills.drill, name="drill"),
    path(f"{AGENT}/releases", releases.releases, name="releases"),
    path(f"{AGENT}/releases/upgrade", releases.begin, name="begin_upgrade"),
    path(f"{AGENT}/releases/<int:number>/back", releases.back, name="roll_back"),
    path(f"{AGENT}/upgrades/<slug:upgrade>", releases.upgrade, name="upgrade"),
    path(f"{AGENT}/credentials", scans.scans, name="scans"),
    path(f"{AGENT}/credentials/<slug:scan>", scans.scan, name="scan"),
    path(f"{AGENT}/credentials/<slug:scan>/report.json", scans.download, name="scan_report"),
    path(f"{AGENT}/<verb:verb>", verbs.verb, name="verb"),
    path("<slug:org>/tokens", tokens.tokens, name="tokens"),
    path("<slug:org>/tokens/issue", tokens.issue, name="issue_token"),
    path("<slug:org>/tokens/<slug:token>/revoke", tokens.revoke, name="revoke_token"),
    path("<slug:org>/keys", keys.keys, name="keys"),
    path("<slug:org>/keys/add", keys.add, name="add_key"),
    path(f"{KEY}/rotate", keys.rotate, name="rotate_key"),
    path(f"{KEY}/revoke", keys.revoke, name="revoke_key"),
    path(f"{KEY}/rotation", keys.rotation, name="key_rotation"),
    path("<slug:org>/secrets/add", secrets.add, name="add_secret"),
    path(f"{SEC}/rotate", secrets.rotate, name="rotate_secret"),
    path(f"{SEC}/revoke", secrets.revoke, name="revoke_secret"),
    path(f"{SEC}/rotation", secrets.rotation, name="secret_rotation"),
]
