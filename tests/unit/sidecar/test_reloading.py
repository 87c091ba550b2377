"""SIGHUP: which settings are read again and applied, and what is logged."""

import json
import os
import signal
from typing import Any

import pytest
from structlog.testing import capture_logs

from bridge.settings.loading import Mistake, SettingsError
from bridge.settings.model import RELOADED, SETTINGS, Settings
from bridge.sidecar.signals import Reloading
from tests.eventually import eventually


class File:
    """What `read` gives: settings that a test changes, or an error."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.wrong = False

    def read(self) -> Settings:  # noqa: D102
        if self.wrong:
            raise SettingsError(Mistake("bridge.yaml:3", "listen: expected a string, got an integer"))
        return Settings(**self.values)


def logged(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_settings_that_can_be_reloaded_are_and_others_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    file, taken = File(), list[Any]()
    reloading = Reloading(file.read(), file.read)
    reloading.take(lambda settings: taken.append(settings.status_writes_per_second))
    file.values = {"status_writes_per_second": 5.0, "listen": "127.0.0.1:1", "log_format": "json"}
    reloading.reload()
    assert taken == [5.0]
    assert (reloading.settings.log_format, reloading.settings.listen) == ("json", Settings().listen)
    done, waits = logged(capsys)
    assert (done["event"], done["changed"]) == ("settings reloaded", ["status_writes_per_second", "log_format"])
    assert (waits["event"], waits["settings"]) == ("settings require a restart", ["listen"])


def test_invalid_settings_change_nothing_until_fixed() -> None:
    file, taken = File(), list[Any]()
    reloading = Reloading(file.read(), file.read)
    reloading.take(taken.append)
    file.wrong = True
    with capture_logs() as logs:
        reloading.reload()
    assert (taken, reloading.current, reloading.results) == ([], False, {"refused": 1})
    assert logs[0]["mistakes"] == ["bridge.yaml:3: listen: expected a string, got an integer"]
    file.wrong = False
    reloading.reload()
    assert reloading.current


def test_a_late_subscriber_gets_the_current_settings() -> None:
    file, taken = File(), list[Any]()
    reloading = Reloading(file.read(), file.read)
    file.values = {"webhook_deadline": 3.0}
    reloading.reload()
    reloading.take(lambda settings: taken.append(settings.webhook_deadline))
    assert taken == [3.0]


async def test_a_signal_reloads() -> None:
    file = File()
    reloading = Reloading(file.read(), file.read)
    with reloading.on_signal():
        os.kill(os.getpid(), signal.SIGHUP)
        await eventually(lambda: reloading.results)
    assert reloading.results == {"applied": 1}


def test_every_setting_that_is_reloaded_is_one() -> None:
    assert set(RELOADED) <= set(SETTINGS)
