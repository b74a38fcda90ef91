"""Which addresses count as one client."""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network, ip_address

OF_ONE = 64  # leading bits of an IPv6 address that a network shares: its hosts choose the others as they like


def client_of(address: str) -> str:
    """What the limits count as one client: an IPv4 address, or the network of an IPv6 address.

    Examples
    --------
    >>> client_of("192.0.2.7"), client_of("2001:db8:1:2:3::4"), client_of("::ffff:192.0.2.7"), client_of("::1")
    ('192.0.2.7', '2001:db8:1:2::/64', '192.0.2.7', '::1')
    """
    try:
        found = ip_address(address)
    except ValueError:  # a socket without addresses
        return address
    if not isinstance(found, IPv6Address) or found.is_loopback:
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(IPv6Network((int(found), OF_ONE), strict=False))
