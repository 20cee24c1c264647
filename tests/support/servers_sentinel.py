"""A real primary with a replica, watched by real sentinels: the same binary, on loopback."""

import contextlib
from pathlib import Path
from typing import TypeVar

from tests.support.servers_tcp import HOST, TcpServer, until
from tests.support.servers_valkey import binary

SERVICE = "jobs"
_SETTLE_S = 20.0
S = TypeVar("S", bound=TcpServer)


class Sentinel(TcpServer):
    """A sentinel that watches one primary and notices its death soon."""

    def __init__(self, primary: TcpServer, quorum: int) -> None:
        self._primary = primary
        self._quorum = quorum
        super().__init__()

    def command(self) -> list[str]:
        config = Path(self.folder) / "sentinel.conf"
        lines = [
            f"port {self.port}", f"bind {HOST}", f"dir {self.folder}", f"logfile {self.folder / 'log'}",
            f"sentinel monitor {SERVICE} {HOST} {self._primary.port} {self._quorum}",
            f"sentinel down-after-milliseconds {SERVICE} 500", f"sentinel failover-timeout {SERVICE} 3000",
        ]  # fmt: skip
        if not config.exists():  # it writes down there what it learns
            config.write_text("\n".join(lines) + "\n")
        return [binary(), str(config), "--sentinel"]


class WatchedPair:
    """One primary, one replica, two sentinels; until `stop`."""

    def __init__(self, *settings: str) -> None:
        self._stack = contextlib.ExitStack()
        try:
            self.primary = self._kept(TcpServer(*settings))
            self.replica = self._kept(TcpServer(*settings, "--replicaof", HOST, str(self.primary.port)))
            self.sentinels = [self._kept(Sentinel(self.primary, 2)) for _ in range(2)]
            until(self._is_settled, _SETTLE_S, "sentinels that know one another and the replica")
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        return f"redis+sentinel://{','.join(one.name for one in self.sentinels)}/{SERVICE}"

    def named(self) -> int:
        """Give the port of the primary that the first sentinel names."""
        told = self.sentinels[0].ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
        assert isinstance(told, list | tuple)
        return int(told[1])

    def stop(self) -> None:
        self._stack.close()

    def _kept(self, server: S) -> S:
        self._stack.callback(server.stop)
        return server

    def _is_settled(self) -> bool:
        told = [str(one.ask("INFO", "sentinel")) for one in self.sentinels]
        is_known = all("'slaves': 1" in one and "'sentinels': 2" in one for one in told)
        return is_known and self.replica.info("replication")["master_link_status"] == "up"
