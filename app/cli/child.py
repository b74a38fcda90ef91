"""A run in a process of its own that ends with its server: `python -m app.cli.child SECONDS run …`.

Its standard input is a pipe from the server. When the server ends, however that happens, the pipe closes; then the
process interrupts itself, as by Ctrl-C, and so saves what it has. The same happens after SECONDS.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading

from app.cli.main import main

NICENESS = 10  # added to that of the server, so that pages come first


def stop_with_server(seconds: float) -> None:
    """Interrupt this process when the pipe closes, or after so many seconds."""
    select.select([sys.stdin], [], [], seconds)  # nobody writes: it is ready when it is closed
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a server in the background may ignore it
    os.nice(NICENESS)
    threading.Thread(target=stop_with_server, args=(float(sys.argv[1]),), daemon=True).start()
    raise SystemExit(main(sys.argv[2:]))
