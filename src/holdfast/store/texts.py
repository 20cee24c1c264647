"""The SQL of a store: statements by name, with the namespace in them. For all stores that speak SQL.

A statement lives in `sql/NAME.sql` of the store's package. Tables are written `ns_…` there, and a prefix with the namespace
in it takes the place of `ns_`. It is the only thing ever substituted, and only after its grammar was checked.
"""

import re
from importlib import resources
from typing import Final

from holdfast.policy.names import check_namespace

_TABLE: Final = re.compile(r"\bns_")


class Texts:
    """The statements of one package for one namespace, by file name: `texts["claim_fifo"]`."""

    def __init__(self, package: str, namespace: str, prefix: str) -> None:
        """`prefix` is what stands before a table's name, with {} for the namespace."""
        self.namespace = check_namespace(namespace)
        self._package = package
        self._prefix = prefix.format(self.namespace)
        self._whole: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        text = self._whole.get(name)
        if text is None:
            text = self._whole[name] = self.of(read(self._package, "sql", f"{name}.sql"))
        return text

    def of(self, text: str) -> str:
        """Put the namespace into a statement that was assembled from constant parts."""
        whole = self._whole.get(text)
        if whole is None:
            whole = self._whole[text] = _TABLE.sub(self._prefix, text)
        return whole


def read(package: str, folder: str, name: str) -> str:
    """Read a file of SQL that is part of a package."""
    return (resources.files(package) / folder / name).read_text("utf-8")
