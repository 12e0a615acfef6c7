"""Keeps the processes of one Airflow running: what ends is started again, as a container's restart policy does.

It is the parent of them all, and ends them when who asked for them is gone: an interrupted `make run`, `make up` or
test leaves no process, also where it was killed.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from processes import stop_all

LOOK_SECONDS = 0.5
LONG_SECONDS = 60.0  # who has lived for so long is started again at once
MAX_PAUSE = 30.0


class Component:
    """One process, with its log."""

    def __init__(self, name: str, command: list[str], environment: Mapping[str, str], home: Path) -> None:
        self.name, self.restarts = name, -1
        self._command, self._home = command, home
        self._environment = {**os.environ, **environment}
        self._started = 0.0
        self._start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def keep(self) -> bool:
        """Starts the process again if it has ended, a little later each time; returns whether it was started."""
        pause = min(2.0**self.restarts, MAX_PAUSE)
        if self._process.poll() is None or time.monotonic() - self._started < pause:
            return False
        if time.monotonic() - self._started > LONG_SECONDS:
            self.restarts = 0
        self._start()
        return True

    def _start(self) -> None:
        with open(self._home / "logs" / f"{self.name}.log", "ab") as log:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._home,
                start_new_session=True,
            )
        self._started = time.monotonic()
        self.restarts += 1


def keep(home: Path, plan: Mapping[str, Any]) -> None:
    """Runs until it is told to end, or until who started it is gone, unless that is allowed since."""
    parent = os.getppid()
    components = [Component(name, **part, home=home) for name, part in plan["components"].items()]
    _tell(home, components)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        time.sleep(LOOK_SECONDS)
        restarted = [component for component in components if component.keep()]
        if restarted:
            _tell(home, components)
        is_free = not plan["tied"] and (home / "ready").exists()
        if os.getppid() != parent and not is_free:
            stop_all(plan["mark"], first=set(), last=set())
            return


def _tell(home: Path, components: list[Component]) -> None:
    told = {component.name: {"pid": component.pid, "restarts": component.restarts} for component in components}
    new = home / ".components.json.new"
    new.write_text(json.dumps(told))
    new.replace(home / "components.json")


if __name__ == "__main__":
    keep(Path(sys.argv[1]), json.load(sys.stdin))
