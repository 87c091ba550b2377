"""The API server's address and the bridge's credentials, from a kubeconfig or the pod's service account."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from bridge.files import read_file
from bridge.kube.errors import ConfigurationError, one_line

_SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
_LOOK_AGAIN = 60.0  # seconds between two checks of credentials that may have been rotated


class KubeAccess:
    """The library's configuration with its credentials.

    `configuration` is a `kubernetes.aio` Configuration whose `auth_settings()` returns a current token; `origin` names
    its source. `loader` is the library's; `plugin` is the command of the credentials, None without one.
    """

    def __init__(self, configuration: Any, origin: str, loader: Any, plugin: str | None = None) -> None:
        self.configuration = configuration
        self.origin = origin
        self._loader = loader
        self._plugin = plugin
        self._refused = False
        self._next_look = time.monotonic() + _LOOK_AGAIN
        configuration.refresh_api_key_hook = self._refresh

    async def authorization(self) -> str | None:
        """Return the value of the Authorization header, refreshed if that is due; None with only a client certificate.

        Raises ConfigurationError when the token's source has become unusable.
        """
        try:
            settings = await self.configuration.auth_settings()
        except Exception as error:  # the loaders raise any error of their sources (files, plugins, YAML)
            raise ConfigurationError(f"{self.origin} no longer provides credentials: {one_line(error)}") from error
        value = settings.get("BearerToken", {}).get("value")
        return value.strip() if value else None  # token files end with a line break, a header must not

    def refused(self) -> None:
        """Note that the API server rejected the credentials: `authorization` then reads new ones immediately."""
        self._refused = True

    async def _refresh(self, configuration: Any) -> None:
        now = time.monotonic()
        if not self._refused and now < self._next_look:
            return
        self._next_look = now + _LOOK_AGAIN
        refused, self._refused = self._refused, False
        expires = hasattr(self._loader, "exec_plugin_expiry")
        if self._plugin and not refused and not expires:
            return  # credentials without an expiry are valid until the API server rejects them, as in kubectl
        if refused and expires:
            del self._loader.exec_plugin_expiry  # otherwise the loader keeps the rejected token until that time
        await self._loader.load_and_set(configuration)


def is_in_pod() -> bool:
    """Return whether this process runs in a Pod with a service account."""
    return "KUBERNETES_SERVICE_HOST" in os.environ and _SERVICE_ACCOUNT_TOKEN.exists()


async def load_access(kubeconfig: str | os.PathLike[str] | None = None, context: str | None = None) -> KubeAccess:
    """Load the given kubeconfig, otherwise $KUBECONFIG, the pod's service account, or ~/.kube/config.

    Raises ConfigurationError, whose text is one line that names the file, if it cannot be used, or disables the
    verification of TLS certificates.
    """
    from kubernetes.aio.client import Configuration  # 0.4 s and 56 MB: only commands with a cluster pay

    configuration: Any = type.__call__(Configuration)  # a new one: calling the class copies its default
    paths = os.fspath(kubeconfig) if kubeconfig else os.environ.get("KUBECONFIG", "")
    if not paths and not context and is_in_pod():
        return _from_service_account(configuration)
    return await _from_kubeconfig(configuration, paths or str(Path.home() / ".kube" / "config"), context)


def _from_service_account(configuration: Any) -> KubeAccess:
    loader = _ServiceAccount()
    try:
        loader.load(configuration)
    except Exception as error:
        raise ConfigurationError(f"the pod's service account cannot be used: {one_line(error)}") from error
    return KubeAccess(configuration, "the pod's service account", loader)


class _ServiceAccount:
    """The library's loader for pods, with the interface of its loader for kubeconfigs.

    Its own hook reads the token once a minute, even after the API server has rejected the current one.
    """

    def load(self, configuration: Any) -> None:
        """Read the account's files."""
        from kubernetes.aio.config import incluster_config as library

        files = (library.SERVICE_TOKEN_FILENAME, library.SERVICE_CERT_FILENAME)
        library.InClusterConfigLoader(*files, try_refresh_token=False).load_and_set(configuration)

    async def load_and_set(self, configuration: Any) -> None:
        """Do the same, with the other loader's name."""
        self.load(configuration)


async def _from_kubeconfig(configuration: Any, paths: str, context: str | None) -> KubeAccess:
    from kubernetes.aio.config import load_kube_config

    files = [Path(path).expanduser() for path in paths.split(os.pathsep) if path]
    present = [path for path in files if path.exists()]
    if not present:
        raise ConfigurationError(f"no kubeconfig at {paths}: name one with --kubeconfig or $KUBECONFIG")
    try:
        for path in present:
            read_file(path)  # the library's message for an unreadable file does not name it
        # persist_config writes to the user's kubeconfig, which the bridge must not change
        loader = await load_kube_config(paths, context, client_configuration=configuration, persist_config=False)
        plugin = _plugin_of(paths, loader)
    except OSError as error:
        raise ConfigurationError(f"kubeconfig {error.filename or paths} cannot be read: {error.strerror}") from error
    except Exception as error:  # YAML errors, missing keys, wrong types: the library checks little
        raise ConfigurationError(f"kubeconfig {paths} cannot be used: {one_line(error)}") from error
    if not configuration.verify_ssl:
        raise ConfigurationError(f"kubeconfig {paths} has insecure-skip-tls-verify: name certificate-authority instead")
    if plugin and not configuration.api_key and not configuration.cert_file:  # the library only logs the failure
        raise ConfigurationError(f"{plugin}, which kubeconfig {paths} names, provided no credentials: run it manually")
    return KubeAccess(configuration, f"kubeconfig {paths}, context {loader.current_context['name']}", loader, plugin)


def _plugin_of(paths: str, loader: Any) -> str | None:
    """Return the credential plugin's command for the user of the loader's context, None without one."""
    from kubernetes.aio.config.kube_config import KubeConfigMerger

    name = loader.current_context["context"].get("user")
    entry = KubeConfigMerger(paths).config["users"].get_with_name(name, safe=True) if name else None
    user = entry.value.get("user") if entry else None
    return str(user["exec"]["command"]) if user and "exec" in user else None
