"""One driver at a time claims a lake on S3; what it takes from the store is a clock and a listing, as a folder has."""

import time
from pathlib import Path

import pytest

from winnow.errors import TransientError, UsageError
from winnow.tables.writers import CLAIMS, Claim

LEASE = 1.0  # seconds


def claim(folder: Path, driver: str, lease: float = LEASE) -> Claim:
    return Claim(str(folder), driver, {}, lease_seconds=lease)


def marks(folder: Path) -> list[str]:
    return sorted(file.name for file in (folder / CLAIMS).iterdir())


def test_a_second_driver_is_refused_until_the_first_one_is_silent(tmp_path: Path) -> None:
    first, second = claim(tmp_path, "local-1"), claim(tmp_path, "local-2")
    with first.held():
        with pytest.raises(TransientError, match="one Spark Connect server") as refused:
            second.renew()
        assert refused.value.code == "another_writer"
        assert "local-1" in refused.value.message
        assert marks(tmp_path) == ["local-1.holding"]  # who was refused leaves nothing behind
        time.sleep(1.5 * LEASE)  # it is still writing, and renews its claim
        with pytest.raises(TransientError):
            second.renew()
    time.sleep(1.2 * LEASE)
    second.renew()
    with pytest.raises(TransientError, match="local-2"):
        first.renew()


def test_clients_of_one_driver_share_its_claim(tmp_path: Path) -> None:
    first, same = claim(tmp_path, "app-1"), claim(tmp_path, "app-1")
    with first.held(), same.held():
        assert marks(tmp_path) == ["app-1.holding"]


def test_of_two_who_ask_at_once_no_two_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one asks between the first one's mark and its look around."""
    first, second = claim(tmp_path, "app-1", 60), claim(tmp_path, "app-2", 60)
    look = first._require_nobody_else

    def meanwhile(asking: str) -> None:
        with pytest.raises(TransientError):
            second.renew()
        look(asking)

    monkeypatch.setattr(first, "_require_nobody_else", meanwhile)
    first.renew()
    assert marks(tmp_path) == ["app-1.holding"]


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="WINNOW_FILESYSTEM_OPTIONS"):
        claim(tmp_path / "file", "app-1").renew()
