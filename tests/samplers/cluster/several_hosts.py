"""Several hosts on one machine: network namespaces with an address each, joined by a switch whose cables can be pulled.

They share nothing but the file system, as the machines of a cluster do. Making them takes the rights of an
administrator, and the command `ip`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from pathlib import Path

from tests.samplers.cluster.dask_cluster import Host

SWITCH = "switch"


class NotPermitted(Exception):
    """Why there can be no hosts here."""


class Hosts:
    """Named hosts, with the addresses 10.213.7.1, .2 and so on; nobody else sees this network."""

    def __init__(self, *names: str) -> None:
        self.prefix, self.names = f"hosts-{secrets.token_hex(3)}", list[str]()
        if shutil.which("ip") is None or os.geteuid() != 0:
            raise NotPermitted("network namespaces need the command ip, and an administrator")
        try:
            self._add(SWITCH)
            self._ip("-n", self._space(SWITCH), "link", "add", "bridge", "type", "bridge")
            self._ip("-n", self._space(SWITCH), "link", "set", "bridge", "up")
            self.hosts = {name: self._connect(name, f"10.213.7.{number}") for number, name in enumerate(names, 1)}
        except subprocess.CalledProcessError as problem:
            self.close()
            raise NotPermitted(problem.stderr.strip()) from None

    def cut(self, name: str) -> None:
        """Pull the cable: nothing is refused or closed, packets just do not arrive any more."""
        self._ip("-n", self._space(SWITCH), "link", "set", name, "down")

    def close(self) -> None:
        """Take all of it away; processes that still run in it keep their part until they end."""
        for name in self.names:
            self._ip("netns", "delete", self._space(name))

    def _space(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    def _add(self, name: str) -> None:
        self._ip("netns", "add", self._space(name))
        self.names.append(name)

    def _connect(self, name: str, address: str) -> Host:
        """A new host with a cable to the switch."""
        self._add(name)
        space, switch = self._space(name), self._space(SWITCH)
        self._ip("-n", switch, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", space)
        self._ip("-n", switch, "link", "set", name, "master", "bridge", "up")
        self._ip("-n", space, "address", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            self._ip("-n", space, "link", "set", device, "up")
        return Host(address, ("ip", "netns", "exec", space))

    @staticmethod
    def _ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def certificates(folder: Path) -> dict[str, str]:
    """A certificate authority and one certificate of it for every role, as Dask's settings in the environment."""
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test"]

    def make(name: str, *more: str) -> Path:
        made = [folder / f"{name}{suffix}" for suffix in (".key", ".pem")]
        command = ["openssl", "req", "-x509", *curve, "-keyout", str(made[0]), "-out", str(made[1]), *more]
        subprocess.run(command, check=True, capture_output=True)
        return made[1]

    folder.mkdir()
    authority = make("authority")
    ours = make("ours", "-CA", str(authority), "-CAkey", str(authority.with_suffix(".key")))
    settings = {"CA_FILE": str(authority)}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        settings |= {f"{role}__CERT": str(ours), f"{role}__KEY": str(ours.with_suffix(".key"))}
    return {f"DASK_DISTRIBUTED__COMM__TLS__{name}": value for name, value in settings.items()}
