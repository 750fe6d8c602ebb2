# The provisioner reads what agents boot with, and keeps what it makes for an agent itself.
path "roost/data/*" {
  capabilities = ["read"]
}
path "roost/metadata/*" {
  capabilities = ["read", "list"]
}
path "roost/data/agents/*" {
  capabilities = ["create", "update", "read", "delete"]
}
path "roost/metadata/agents/*" {
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
