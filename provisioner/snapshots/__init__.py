"""Snapshots of workspaces: `take` makes one, `manifest` says what is in it, `offsite` ships it,
`restore` brings one back."""
