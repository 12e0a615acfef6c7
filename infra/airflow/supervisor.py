"""The live Airflow of this project: settings, secrets, its four processes and a Spark Connect server, on loopback.

`python infra/airflow/supervisor.py up | down | status`. A keeper (`keeper.py`) starts these processes and starts them
again when they end. Each, and every process that one of them starts, carries a mark in its environment; `down` leaves
none that has it.
"""

import argparse
import base64
import hashlib
import json
import os
import secrets
import signal
import socket
import string
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from client import Client, RestError
from processes import MARK, marked, stop_all

ROOT = Path(__file__).absolute().parents[2]
FOLDER = Path(__file__).parent
# --skip-serve-logs: these two would listen on all interfaces, and no setting changes that.
COMPONENTS = {
    "scheduler": ("scheduler", "--skip-serve-logs"),
    "triggerer": ("triggerer", "--skip-serve-logs"),
    "dag-processor": ("dag-processor",),
    "api-server": ("api-server", "--host", "127.0.0.1", "--workers", "1"),
}
SPARK = "spark-connect"
CONNECTION = "winnow_spark"
HEALTHY_SECONDS = 240.0
MAX_RESTARTS = 2  # of a component that is starting; then it will never be healthy


LAKE = ROOT / ".winnow" / "lake"


def home_of(lake: str) -> Path:
    """AIRFLOW_HOME for a lake. Each has one of its own: the assets of a home name the places of one lake."""
    if Path(lake).absolute() == LAKE:
        return ROOT / ".winnow" / "airflow"
    name = lake if "://" in lake else str(Path(lake).absolute())
    return ROOT / ".winnow" / f"airflow-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def landing_of(lake: str) -> Path:
    """Where files land: beside the lake, or, where that is no folder, beside the one that is used by default."""
    return (LAKE if "://" in lake else Path(lake).absolute()).with_name("landing")


class SupervisorError(Exception):
    """A sentence for the person at the keyboard."""


class Airflow:
    """One Airflow at `home`. `settings` go before the environment, and that before the defaults.

    One that is `tied` ends with the process that has started it, whatever becomes of that.
    """

    def __init__(
        self, home: Path, *, port: int | None = None, settings: Mapping[str, str] | None = None, tied: bool = False
    ) -> None:
        self.home = home.absolute()
        self.port = port or int(os.environ.get("WINNOW_AIRFLOW_PORT", "8080"))
        self._settings = dict(settings or {})
        self._tied = tied
        self._state_file, self._ready_file = self.home / "live.json", self.home / "ready"

    def up(self) -> None:
        """Start whatever is needed and wait until it is healthy; what was started is stopped again if that fails."""
        if self.is_live():
            raise SupervisorError(f"already live at {self.url()}")
        if not _is_free(self.port):
            raise SupervisorError(f"port {self.port} is taken; choose another with WINNOW_AIRFLOW_PORT")
        self._make_secrets()
        self.airflow("db", "migrate")
        state: dict[str, Any] = {"mark": secrets.token_hex(16), "port": self.port}
        if self.environment()["WINNOW_SPARK"] == "connect":
            state["spark_port"] = free_port()
        for left_over in (self._ready_file, self.home / "components.json"):
            left_over.unlink(missing_ok=True)
        _write_private(self._state_file, json.dumps(state))
        try:
            self._start_keeper(state)
            self._wait_until_healthy(state)
            client = self.client()
            client.set_connection(CONNECTION, **self._connection(state))
            for name, pool in json.loads((FOLDER / "pools.json").read_text()).items():
                client.set_pool(name, **pool)
            self._ready_file.touch()
        except BaseException:
            self.down()
            raise

    def down(self) -> list[int]:
        """Stop all of it: politely, then not. Returns what had to be killed."""
        state = self._state()
        if state is None:
            return []
        pids = {name: part["pid"] for name, part in self.components().items()}
        first = {pids[name] for name in ("scheduler", "triggerer", "dag-processor") if name in pids}
        last = {pids[name] for name in ("api-server", SPARK) if name in pids}  # tasks report to it, and work there
        stubborn = stop_all(state["mark"], first=first | {state.get("keeper", -1)}, last=last)
        if left := marked(state["mark"]):
            raise SupervisorError(f"these processes cannot be stopped: {sorted(left)}")
        for file in (self._state_file, self._ready_file, self.home / "components.json"):
            file.unlink(missing_ok=True)
        return stubborn

    def components(self) -> dict[str, dict[str, int]]:
        """Process id and number of restarts of each component, by name."""
        try:
            found: dict[str, dict[str, int]] = json.loads((self.home / "components.json").read_text())
        except FileNotFoundError:
            return {}
        return found

    def is_live(self) -> bool:
        state = self._state()
        return state is not None and bool(marked(state["mark"]))

    def processes(self) -> set[int]:
        state = self._state()
        return marked(state["mark"]) if state else set()

    def url(self) -> str:
        state = self._state()
        return f"http://127.0.0.1:{state['port'] if state else self.port}"

    def connect_address(self) -> str:
        """Where the Connect server is, with its token."""
        state = self._state() or {}
        return f"sc://localhost:{state['spark_port']}/;token={self._secret('spark_token')}"

    def client(self) -> Client:
        password = json.loads((self.home / "secrets" / "passwords.json").read_text())["admin"]
        return Client(self.url(), "admin", password)

    def airflow(self, *arguments: str) -> str:
        """The `airflow` command, with these settings; what it printed."""
        command = [str(ROOT / ".venv-airflow" / "bin" / "airflow"), *arguments]
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True, check=False)
        if done.returncode:
            tail = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
            raise SupervisorError(f"airflow {' '.join(arguments)} failed ({done.returncode}):\n{tail}")
        return done.stdout

    def environment(self) -> dict[str, str]:
        """The processes' environment: this one's, with airflow.env filled in."""
        defaults = {
            "WINNOW_HOME": str(ROOT),
            "WINNOW_LAKE": str(LAKE),
            "WINNOW_SPARK": "connect",
            "WINNOW_MASTER": "local[2]",
            "WINNOW_START": "2026-01-01",
        }
        state = self._state()
        here = {"AIRFLOW_HOME": str(self.home), "WINNOW_AIRFLOW_PORT": str(state["port"] if state else self.port)}
        known = defaults | dict(os.environ) | self._settings | here
        known.setdefault("WINNOW_LANDING", str(landing_of(known["WINNOW_LAKE"])))
        filled = {}
        for line in (FOLDER / "airflow.env").read_text().splitlines():
            name, separator, value = line.partition("=")
            if separator and not line.startswith("#"):
                filled[name.strip()] = string.Template(value.strip()).substitute(known)
        return known | filled

    def _make_secrets(self) -> None:
        folder = self.home / "secrets"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = {
            "fernet_key": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            "secret_key": secrets.token_urlsafe(32),
            "jwt_secret": secrets.token_urlsafe(48),
            "spark_token": secrets.token_hex(24),
            "passwords.json": json.dumps({"admin": secrets.token_urlsafe(12)}),
        }
        for name, value in made.items():
            if not (folder / name).exists():
                _write_private(folder / name, value)

    def _commands(self, state: dict[str, Any]) -> dict[str, list[str]]:
        """What is started, by name."""
        airflow = str(ROOT / ".venv-airflow" / "bin" / "airflow")
        found = {name: [airflow, *arguments] for name, arguments in COMPONENTS.items()}
        found["api-server"] += ["--port", str(self.port)]
        if port := state.get("spark_port"):
            found[SPARK] = [str(ROOT / ".venv" / "bin" / "winnow"), "connect-server", f"--port={port}"]
        return found

    def _connection(self, state: dict[str, Any]) -> dict[str, Any]:
        """The connection of the jobs. With a token, a plain channel goes to `localhost` and to no other name."""
        if port := state.get("spark_port"):
            address = {
                "host": "sc://localhost",
                "port": port,
                "login": "winnow",
                "password": self._secret("spark_token"),
            }
            return {"conn_type": "spark_connect", **address}
        master = self.environment()["WINNOW_MASTER"]
        return {"conn_type": "spark", "host": master, "extra": json.dumps({"deploy-mode": "client"})}

    def _secret(self, name: str) -> str:
        return (self.home / "secrets" / name).read_text()

    def _start_keeper(self, state: dict[str, Any]) -> None:
        (self.home / "logs").mkdir(parents=True, exist_ok=True)
        common = {**self.environment(), MARK: state["mark"], "SPT_NOENV": "1"}  # new titles leave the mark alone
        token = {"SPARK_CONNECT_AUTHENTICATE_TOKEN": self._secret("spark_token")}
        components = {
            name: {"command": command, "environment": token if name == SPARK else {}}
            for name, command in self._commands(state).items()
        }
        with open(self._log("keeper"), "ab") as log:
            keeper = subprocess.Popen(
                [sys.executable, str(FOLDER / "keeper.py"), str(self.home)],
                env=common,
                stdin=subprocess.PIPE,  # the plan holds a secret
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.home,
                start_new_session=True,  # Ctrl-C is ours to handle
            )
        state["keeper"] = keeper.pid
        _write_private(self._state_file, json.dumps(state))
        plan = {"mark": state["mark"], "tied": self._tied, "components": components}
        assert keeper.stdin
        keeper.stdin.write(json.dumps(plan).encode())
        keeper.stdin.close()

    def _log(self, name: str) -> Path:
        return self.home / "logs" / f"{name}.log"

    def _wait_until_healthy(self, state: dict[str, Any]) -> None:
        end = time.monotonic() + HEALTHY_SECONDS
        while True:
            for name, part in self.components().items():
                if part["restarts"] > MAX_RESTARTS:
                    tail = "\n".join(self._log(name).read_text(errors="replace").splitlines()[-15:])
                    raise SupervisorError(f"the {name} ended while starting; {self._log(name)} says:\n{tail}")
            try:
                health = Client(self.url()).health()
            except (OSError, RestError):
                health = {}
            is_healthy = len(health) >= len(COMPONENTS) and set(health.values()) == {"healthy"}
            if is_healthy and ("spark_port" not in state or not _is_free(state["spark_port"])):
                return
            if time.monotonic() > end:
                raise SupervisorError(f"not healthy after {HEALTHY_SECONDS:.0f} s: {health}; see {self.home / 'logs'}")
            time.sleep(0.5)

    def _state(self) -> dict[str, Any] | None:
        try:
            state: dict[str, Any] = json.loads(self._state_file.read_text())
        except FileNotFoundError:
            return None
        return state


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _write_private(path: Path, text: str) -> None:
    """Never readable by others, not even for a moment."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    new.replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("up", "down", "status"))
    parser.add_argument("--home", type=Path, help="AIRFLOW_HOME (default: one for each lake; `down` ends all of them)")
    args = parser.parse_args()
    home = args.home or home_of(os.environ.get("WINNOW_LAKE") or str(LAKE))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        if args.verb == "up":
            up(Airflow(home))
        elif args.verb == "down":
            homes = [args.home] if args.home else sorted((ROOT / ".winnow").glob("airflow*"))
            stopped = [str(one.home) for one in map(Airflow, homes) if one.is_live() and one.down() is not None]
            print("\n".join(f"stopped {name}" for name in stopped) or "was not live")
        else:
            airflow = Airflow(home)
            print(f"live at {airflow.url()}" if airflow.is_live() else "not live")
    except SupervisorError as error:
        print(f"airflow: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("airflow: interrupted; everything it started is stopped", file=sys.stderr)
        return 130
    return 0


def up(airflow: Airflow) -> None:
    print(f"starting Airflow on loopback, port {airflow.port} ...", flush=True)
    airflow.up()
    where = airflow.home / "secrets" / "passwords.json"
    print(f"live at {airflow.url()}, user admin, password in {where}; `make down` stops it")
    print(f"reports  {airflow.url()}/winnow/reports/index.html")
    print(f"lake     {airflow.environment()['WINNOW_LAKE']}")
    print(f"landing  {airflow.environment()['WINNOW_LANDING']}/<date>/ for documents, …/profiles/ for profile files")


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
