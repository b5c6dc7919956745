"""`python -m workers.cluster`. Holds no code: Ray kills actors whose module connects to it."""

import logging
import os

from workers.cluster.main import main

code = main()
logging.shutdown()
os._exit(code)  # not through Ray's exit hooks: see main
