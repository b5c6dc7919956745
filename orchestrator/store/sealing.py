"""Seal what only this control plane may read: authenticated encryption under a key that is not in the database."""

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from orchestrator.domain.errors import Unavailable


class Seal:
    """Seals under a key of its own, derived from the server's."""

    def __init__(self, server_key: bytes) -> None:
        derived = HKDF(SHA256(), length=32, salt=None, info=b"podwright secrets").derive(server_key)
        self._fernet = Fernet(base64.urlsafe_b64encode(derived))

    def seal(self, value: str) -> str:
        return self._fernet.encrypt(value.encode()).decode()

    def unseal(self, sealed: str) -> str:
        """The value.

        Raises:
            Unavailable: it was sealed under another key.
        """
        try:
            return self._fernet.decrypt(sealed.encode()).decode()
        except InvalidToken:
            raise Unavailable(
                "a secret was sealed under another server key; give back that key, or set it anew"
            ) from None
