#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""The checks of the Makefile for those who know nox: `nox -s lint tests`. `nox -l` lists them."""

from __future__ import annotations

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|venv"


@nox.session
def lint(session: nox.Session) -> None:
    """Style and types."""
    session.install("--editable", ".[test]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """All tests, or those that you name: `nox -s tests-3.12 -- tests/designer`."""
    session.install("--editable", ".[test]")
    session.run("python", "-m", "pytest", "-n", "auto", "--dist", "loadgroup", *session.posargs)


@nox.session(default=False)
def site(session: nox.Session) -> None:
    """The documentation as a site."""
    session.install("--editable", ".[site]")
    session.run("mkdocs", "build", "--strict")


if __name__ == "__main__":
    nox.main()
