"""Other versions of the tiny runtime's image: its server with something to do before it serves."""

from pathlib import Path

from provisioner.engines.base import Build, Engine
from runtimes.images import File, Image
from runtimes.references import base_reference
from tests.engine.tiny.image import DOCKERFILE

HERE = Path(__file__).parent
MARK = 'print("tiny: up", flush=True)\n'

MIGRATES = "open('/workspace/work.txt', 'w').write('migrated')\n"
VARIANTS = {
    "good": "",
    "bad": MIGRATES + "sys.exit(1)\n",
    # Longer than its deadline, and saying so.
    "slow": """import time
for number in range(16):
    print("migrating", number, flush=True)
    time.sleep(0.5)
""",
    "hangs": "import time\ntime.sleep(600)\n",
    "loses": MIGRATES
    + "open('/workspace/.hermes/config.yaml', 'w').write('model: {default: b}\\n')\n",
}


def ensure_variant(engine: Engine, name: str) -> str:
    """Its reference; built in a second where it is missing."""
    server = (HERE / "server.py").read_text()
    assert MARK in server
    files = (
        File("runtime.py", (HERE / "runtime.py").read_bytes()),
        File("server.py", server.replace(MARK, VARIANTS[name] + MARK).encode()),
    )
    image = Image(
        repository=f"roost/tests-tiny-{name}",
        version="2",
        dockerfile=DOCKERFILE,
        files=files,
        args={"BASE": base_reference()},
    )
    if not engine.has_image(image.reference):
        build = Build(image.reference, image.context_tar(), image.build_args, image.labels, False)
        engine.build_image(build, lambda line: None)
    return image.reference
