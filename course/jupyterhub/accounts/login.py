"""JupyterHub's login services, with the names that the machine's accounts have: other services lower-case them."""

from __future__ import annotations

from jupyterhub.auth import PAMAuthenticator
from jupyterhub.authenticators.shared import SharedPasswordAuthenticator

from course.jupyterhub.accounts.names import account_name


class _AsAccountsAre:
    """Knows who logs in by the name of the account."""

    def normalize_username(self, username: str) -> str:
        """The account's name, or what `username_map` makes of it."""
        name = account_name(username)
        return self.username_map.get(name, name)


class AccountAuthenticator(_AsAccountsAre, PAMAuthenticator):
    """The machine's accounts and their passwords."""


class TrialAuthenticator(_AsAccountsAre, SharedPasswordAuthenticator):
    """One password for all names, for trying out."""
