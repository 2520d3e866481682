"""Whom TLS believes: contexts made once per set of authorities, and why a certificate is refused.

Verification is always on: there is no setting that turns it off.
"""

from __future__ import annotations

import asyncio
import os
import ssl

from msgspec import Struct

from healthd.checks.shared import Shared

#: Reading the system's authorities costs more than a handshake, and they change by packages only.
KEEP_S = 3600.0

#: Verification results in healthd's own words. Source: X509_STORE_CTX_get_error(3), X509_V_ERR_*.
_REFUSALS = {
    2: "its issuer is not known",
    9: "the certificate is not valid yet",
    10: "the certificate has expired",
    18: "the certificate is signed by itself",
    19: "the certificate's chain ends at an authority that is not trusted",
    20: "its issuer is not known",
    21: "the certificate's chain is incomplete",
    23: "the certificate is revoked",
    24: "its issuer is no authority",
    26: "the certificate is not made for servers",
    62: "the certificate is for another name",
    64: "the certificate is for another address",
}
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")
_NO_COMMON = ("UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION", "NO_PROTOCOLS_AVAILABLE")


class Authorities(Struct, frozen=True):
    """A file of authorities as it is now, "" = the system's: a changed file is another one."""

    path: str
    changed_ns: int
    size_bytes: int


class Trust:
    """TLS contexts, one for each set of authorities. One object serves all looks."""

    def __init__(self) -> None:
        self._contexts: Shared[Authorities, ssl.SSLContext] = Shared(_load, keep_s=KEEP_S)

    def context(self, ca: str) -> asyncio.Future[ssl.SSLContext]:
        """A context that trusts the authorities in the file *ca*, or the system's.

        The future may end with an OSError; it belongs to all, never cancel it. Raises OSError when
        the file cannot be seen.
        """
        seen = os.stat(ca) if ca else None
        return self._contexts.get(
            Authorities(ca, seen.st_mtime_ns, seen.st_size) if seen else Authorities("", 0, 0)
        )


def _load(authorities: Authorities) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authorities.path or None)
    # Python 3.13 turned strictness on: the same private authority must not be refused or not by the
    # age of the interpreter. A certificate that the file itself holds is trusted as it stands.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def refusal(err: ssl.SSLError) -> str:
    """Why a handshake failed, in healthd's own words."""
    if isinstance(err, ssl.SSLCertVerificationError):
        code = err.verify_code
        return _REFUSALS.get(code, f"the certificate is not trusted (verification result {code})")
    if isinstance(err, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return "the connection was closed during the handshake"
    if err.reason in _NO_TLS:
        return "the other side does not speak TLS"
    if err.reason in _NO_COMMON:
        return "there is no TLS version in common"
    return "the handshake failed"


def valid_until_at(peer: ssl.SSLSocket) -> int:
    """The end of the peer's certificate, wall µs."""
    certificate = peer.getpeercert()
    ends = certificate.get("notAfter") if certificate else None
    return int(ssl.cert_time_to_seconds(ends)) * 1_000_000 if isinstance(ends, str) else 0
