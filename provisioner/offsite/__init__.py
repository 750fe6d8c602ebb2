"""The off-site store: restic's repositories in an S3 bucket, one for each agent.

What is kept there is encrypted on the node with a key of the organisation, which lies in the
vault. Without S3_ENDPOINT_URL there is no such store, and snapshots stay on the node.
"""
