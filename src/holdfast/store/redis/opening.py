"""From a URL to a wiring: which kind it is shows when the first server answers."""

from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoAnswer

from holdfast.errors import InvalidInput
from holdfast.store.redis import addresses
from holdfast.store.redis.addresses import Address, shown
from holdfast.store.redis.cluster import Cluster
from holdfast.store.redis.guided import Guided
from holdfast.store.redis.node import Node
from holdfast.store.redis.one_server import OneServer
from holdfast.store.redis.wiring import Wiring


def wire(url: str, where: str) -> Wiring:
    """Reach a server that the URL names, and give the wiring it calls for. `where` is the URL as it is shown.

    Raises a driver's error if none of them answers.
    """
    address = addresses.read(url)
    if address.service is not None:
        return Guided(address)
    if not _is_cluster(address, where):
        if len(address.hosts) > 1:
            raise InvalidInput(
                f"{where} names {len(address.hosts)} servers, and they are no cluster (cluster-enabled no). Name one "
                "server; or for a primary that moves, its sentinels: redis+sentinel://host:26379,host2:26379/service."
            )
        return OneServer(address, where)
    if address.is_socket:
        raise InvalidInput(
            f"{where} is a node of a cluster, and its socket leads to no other node. Name its nodes by host and port: "
            "redis://host:7001,host:7002."
        )
    if address.options.get("db", 0) != 0:
        raise InvalidInput(
            f"{where} is a cluster, where jobs are kept in database 0, and the URL asks for database "
            f"{address.options['db']}. Leave it out; to keep apps apart, give each a namespace."
        )
    return Cluster(address)


def _is_cluster(address: Address, where: str) -> bool:
    """Ask the servers one after the other, until one says what it is."""
    failure: Exception | None = None
    plain = address._replace(options={name: value for name, value in address.options.items() if name != "db"})
    for host in address.hosts or (None,):
        node = Node(where if host is None else shown(host), plain.client(host))
        try:
            return bool(node.execute(("INFO",))[0].get("cluster_enabled"))
        except (NoConnection, NoAnswer) as error:
            failure = error
        finally:
            node.close()
    assert failure is not None
    raise failure
