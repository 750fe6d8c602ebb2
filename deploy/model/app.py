"""What uvicorn serves: `uvicorn deploy.model.app:app --host 127.0.0.1`. Local settings only."""

import os

from deploy.model.server import require_local, stand_in

require_local(os.environ)
app = stand_in()
