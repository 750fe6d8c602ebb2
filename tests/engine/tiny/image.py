"""The image of the tiny runtime: ours but for Hermes itself, which takes seconds to start."""

from pathlib import Path

from provisioner.engines.base import Build, Engine
from runtimes.images import File, Image
from runtimes.references import base_reference

HERE = Path(__file__).parent
DOCKERFILE = """ARG BASE
FROM ${BASE}
COPY server.py /opt/tiny/server.py
COPY runtime.py /opt/roost/runtime.py
"""


def ensure_tiny(engine: Engine) -> str:
    """Its reference; built in a second where it is missing."""
    names = ("runtime.py", "server.py")
    image = Image(
        repository="roost/tests-tiny",
        version="1",
        dockerfile=DOCKERFILE,
        files=tuple(File(name, (HERE / name).read_bytes()) for name in names),
        args={"BASE": base_reference()},
    )
    if not engine.has_image(image.reference):
        build = Build(image.reference, image.context_tar(), image.build_args, image.labels, False)
        engine.build_image(build, lambda line: None)
    return image.reference
