"""`python -P -m app.cli`: the `austerity` command, whatever lies in the current folder."""

import sys

from app.cli.main import main

sys.exit(main())
