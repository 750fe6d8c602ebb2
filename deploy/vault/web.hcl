# The web process writes and forgets values of organisations; it can never read one back.
path "roost/data/orgs/*" {
  capabilities = ["create", "update", "delete"]
}
path "roost/delete/orgs/*" {
  capabilities = ["update"]
}
path "roost/destroy/orgs/*" {
  capabilities = ["update"]
}
path "roost/metadata/orgs/*" {
  capabilities = ["create", "update", "read", "list", "delete"]
}

# Its own token. The default policy grants more than that.
path "auth/token/lookup-self" {
  capabilities = ["read"]
}
path "auth/token/renew-self" {
  capabilities = ["update"]
}
path "auth/token/revoke-self" {
  capabilities = ["update"]
}
