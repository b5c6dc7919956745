"""`python -m workers.cluster`. Holds no code: Ray kills actors whose module connects to it."""

import sys

from workers.cluster.main import main

sys.exit(main())
