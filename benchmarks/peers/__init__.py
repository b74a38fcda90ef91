"""Other people's engines, beside ours; they run in an environment of their own (`make peers`)."""

from pathlib import Path

PYTHON = Path(__file__).parents[2] / ".venv-peers" / "bin" / "python"
