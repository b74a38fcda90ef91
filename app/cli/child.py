"""A command in a process of its own that ends with its server: `python -m app.cli.child SECONDS run …`.

Its standard input is a pipe from the server. When the server ends, however that happens, the pipe closes; then the
process interrupts itself, as by Ctrl-C, and so saves what it has. The same happens after SECONDS. If it has not ended a
while later, it is killed, with all that it has started.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time

from app.cli.main import main

NICENESS = 10  # added to that of the server, so that pages come first
SAVING_SECONDS = 60.0  # that it gets to save what it has


def stop_with_server(seconds: float) -> None:
    """Interrupt this process when the pipe closes, or after so many seconds."""
    select.select([sys.stdin], [], [], seconds)  # nobody writes: it is ready when it is closed
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(SAVING_SECONDS)
    if os.getpgrp() == os.getpid():  # otherwise the group is somebody else's, too
        os.killpg(os.getpid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a server in the background may ignore it
    os.nice(NICENESS)
    threading.Thread(target=stop_with_server, args=(float(sys.argv[1]),), daemon=True).start()
    raise SystemExit(main(sys.argv[2:]))
