"""Which API server, and who we are to it: kubeconfig or the pod's service account, kept fresh."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from bridge.kube.errors import ConfigurationError, one_line

_SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
_LOOK_AGAIN = 60.0  # seconds between two looks at credentials that may have been rotated


class KubeAccess:
    """The library's configuration with its credentials.

    `configuration` is a `kubernetes.aio` Configuration whose `auth_settings()` gives a current token; `origin` says in
    words where it comes from. `loader` is the library's; `plugin` is the command that the credentials come from, None
    without one.
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
        """The value of the Authorization header, refreshed if that is due; None with a client certificate alone.

        Raises ConfigurationError when the token's source has become unusable.
        """
        try:
            settings = await self.configuration.auth_settings()
        except Exception as error:  # the loaders raise whatever their sources (files, plugins, YAML) do
            raise ConfigurationError(f"{self.origin} gives no credentials any more: {one_line(error)}") from error
        value = settings.get("BearerToken", {}).get("value")
        return value.strip() if value else None  # token files end with a line break, a header must not

    def refused(self) -> None:
        """Tell that the API server did not accept the credentials: `authorization` then looks for new ones at once."""
        self._refused = True

    async def _refresh(self, configuration: Any) -> None:
        now = time.monotonic()
        if not self._refused and now < self._next_look:
            return
        self._next_look = now + _LOOK_AGAIN
        refused, self._refused = self._refused, False
        expires = hasattr(self._loader, "exec_plugin_expiry")
        if self._plugin and not refused and not expires:
            return  # credentials without an expiry are valid until the API server refuses them, as with kubectl
        if refused and expires:
            del self._loader.exec_plugin_expiry  # else the loader keeps the refused token until that time
        await self._loader.load_and_set(configuration)


async def load_access(kubeconfig: str | os.PathLike[str] | None = None, context: str | None = None) -> KubeAccess:
    """Load the given kubeconfig, else $KUBECONFIG, else the pod's service account, else ~/.kube/config.

    Raises ConfigurationError, whose text is one line that names the file, when it cannot be used, or when it turns the
    verification of TLS certificates off.
    """
    from kubernetes.aio.client import Configuration  # 0.4 s and 56 MB: only those who need a cluster pay

    configuration: Any = type.__call__(Configuration)  # a fresh one: calling the class copies its default
    paths = os.fspath(kubeconfig) if kubeconfig else os.environ.get("KUBECONFIG", "")
    in_pod = "KUBERNETES_SERVICE_HOST" in os.environ and _SERVICE_ACCOUNT_TOKEN.exists()
    if not paths and not context and in_pod:
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
    """The library's loader for pods, used as its loader for kubeconfigs is.

    Its own hook reads the token once a minute, also when the API server has just refused the one that it has.
    """

    def load(self, configuration: Any) -> None:
        """Read the account's files."""
        from kubernetes.aio.config import incluster_config as library

        files = (library.SERVICE_TOKEN_FILENAME, library.SERVICE_CERT_FILENAME)
        library.InClusterConfigLoader(*files, try_refresh_token=False).load_and_set(configuration)

    async def load_and_set(self, configuration: Any) -> None:
        """The same, as the other loader has it."""
        self.load(configuration)


async def _from_kubeconfig(configuration: Any, paths: str, context: str | None) -> KubeAccess:
    from kubernetes.aio.config import load_kube_config

    files = [Path(path).expanduser() for path in paths.split(os.pathsep) if path]
    present = [path for path in files if path.exists()]
    if not present:
        raise ConfigurationError(f"no kubeconfig at {paths}: name one with --kubeconfig or $KUBECONFIG")
    try:
        for path in present:
            path.read_bytes()  # the library's message for an unreadable file does not name it
        # persist_config writes to the user's kubeconfig, which is not ours to change
        loader = await load_kube_config(paths, context, client_configuration=configuration, persist_config=False)
        plugin = _plugin_of(paths, loader)
    except OSError as error:
        raise ConfigurationError(f"kubeconfig {error.filename or paths} cannot be read: {error.strerror}") from error
    except Exception as error:  # YAML errors, missing keys, wrong types: the library checks little
        raise ConfigurationError(f"kubeconfig {paths} cannot be used: {one_line(error)}") from error
    if not configuration.verify_ssl:
        raise ConfigurationError(f"kubeconfig {paths} has insecure-skip-tls-verify: name certificate-authority instead")
    if plugin and not configuration.api_key and not configuration.cert_file:  # the library only logs that it failed
        raise ConfigurationError(f"{plugin}, which kubeconfig {paths} names, gave no credentials: run it by hand")
    return KubeAccess(configuration, f"kubeconfig {paths}", loader, plugin)


def _plugin_of(paths: str, loader: Any) -> str | None:
    """Return the command of the credential plugin that the user of the loader's context has, None without one."""
    from kubernetes.aio.config.kube_config import KubeConfigMerger

    name = loader.current_context["context"].get("user")
    entry = KubeConfigMerger(paths).config["users"].get_with_name(name, safe=True) if name else None
    user = entry.value.get("user") if entry else None
    return str(user["exec"]["command"]) if user and "exec" in user else None
