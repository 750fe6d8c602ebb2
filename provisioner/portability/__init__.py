"""Workspaces that come and go as archives: `export` makes one, `take_in` begins an agent with one,
`unpack` reads what a stranger sent, `migrate` has a runtime take over what another one left."""
