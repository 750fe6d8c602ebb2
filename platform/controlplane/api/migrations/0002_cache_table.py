from django.db import migrations

# What `createcachetable` makes for DatabaseCache, here so that no installation can forget it.
CREATE = """
CREATE TABLE api_cache (
    cache_key varchar(255) NOT NULL PRIMARY KEY,
    value text NOT NULL,
    expires timestamp with time zone NOT NULL
);
CREATE INDEX api_cache_expires ON api_cache (expires);
"""


class Migration(migrations.Migration):
    dependencies = [("api", "0001_initial")]

    operations = [migrations.RunSQL(CREATE, "DROP TABLE api_cache")]
