"""The hook of the tiny runtime: as small as one can be, with the real boot shim before it."""


def render(settings, keys, run):
    (run / "token").write_text(keys["gateway"])
    return ["/usr/bin/python3", "-I", "-S", "/opt/tiny/server.py"], {}
