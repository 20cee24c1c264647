"""What the URLs of stores have in common: options behind a question mark, a tier, a password that is not shown.

Unknown options are refused: a misspelt one would otherwise be a promise that nobody keeps.
"""

import re
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from holdfast.errors import InvalidInput, UnknownOption

_FLAGS: Final = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_SECRET_OPTIONS: Final = ("password", "sslpassword", "sentinel_password")


def options_in(url: str, known: tuple[str, ...]) -> dict[str, str]:
    """Read the options of a URL that takes these and no others."""
    options = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    for name in options:
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise UnknownOption(f"the URL of this store has no option {name!r}; {takes}")
    return options


def taken_out(url: str, *names: str) -> tuple[str, dict[str, str]]:
    """Take our own options out of a URL that goes on to a driver, which has options of its own."""
    address, _, query = url.partition("?")
    given = parse_qsl(query, keep_blank_values=True)
    ours = {name: value for name, value in given if name in names}
    rest = urlencode([(name, value) for name, value in given if name not in names])
    return (f"{address}?{rest}".removesuffix("?") if ours else url), ours


def chosen_tier(asked: str | None, in_url: str | None, known: tuple[str, ...]) -> str | None:
    """Give the tier that was asked for, in whichever place; None if in neither."""
    if asked and in_url and asked != in_url:
        raise InvalidInput(f"tier is {asked!r} as an argument and {in_url!r} in the URL; give it once")
    tier = asked or in_url
    if tier is not None and tier not in known:
        raise InvalidInput(f"expected tier to be one of {', '.join(known)}, got: {tier!r}")
    return tier


def flag(text: str, what: str) -> bool:
    """Read a yes or no."""
    if text.lower() not in _FLAGS:
        raise InvalidInput(f"expected {what} to be 1 or 0, got: {text!r}")
    return _FLAGS[text.lower()]


def without_password(url: str) -> str:
    """Give the URL with its secrets covered.

    All up to the last @ counts as user and password: one with a / or ? in it that should have been encoded is covered, too.
    """
    scheme, slashes, rest = url.partition("://")
    user, at, place = rest.rpartition("@")
    if set(user) & set(":/?"):
        user = f"{re.split('[:/?]', user)[0]}:***"
    address, mark, query = place.partition("?")
    options = [_covered(option) for option in query.split("&")]
    return f"{scheme}{slashes}{user}{at}{address}{mark}{'&'.join(options)}"


def _covered(option: str) -> str:
    name, is_given, _ = option.partition("=")
    return f"{name}=***" if is_given and name in _SECRET_OPTIONS else option
