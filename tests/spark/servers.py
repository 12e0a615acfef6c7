"""Servers on loopback for the tests: a standalone cluster, and a Spark Connect server with a token; an S3 server.

Each runs in a process group of its own, which is ended as a whole, and dies with the process that started it.
"""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import Request, urlopen

import pyspark

from winnow.tables.connect_server import TOKEN, server_command, server_environment

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
WORKERS = 2
_LOOPBACK = ("--host", "127.0.0.1", "--webui-port", "0")
DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--")


@contextmanager
def connect_server(
    folder: Path, *, master: str = "local[2]", settings: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yields the address of a new server, its token included."""
    port, token = free_port(), secrets.token_hex(16)
    own = {"spark.sql.warehouse.dir": str(folder / "warehouse"), "spark.driver.memory": "2g"}
    command = server_command(port, master=master, settings={**own, **(settings or {})})
    log, environment = folder / "connect.log", server_environment()
    with process_of(log, command, **environment, **{TOKEN: token}) as process:
        wait_for_port(port, process, log)
        yield f"sc://localhost:{port}/;token={token}"  # with a token, pyspark takes only this name for a plain channel


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """Yields the address of one master with two workers of one core."""
    with cluster(folder) as started:
        yield started.address


@dataclass
class Cluster:
    """A master and its workers. Each worker has folders of its own, as machines have."""

    address: str
    folder: Path
    processes: ExitStack
    workers: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def add_worker(self) -> Path:
        """Starts one more worker of one core; returns its folder, in which each application has one."""
        number = len(self.workers)
        log, own = self.folder / f"worker{number}.log", self.folder / f"machine{number}"
        own.mkdir()
        options = ("--cores", "1", "--memory", "2g", "--work-dir", str(own / "work"), self.address)
        environment = {"WINNOW_CACHE": str(own / "cache"), "SPARK_LOCAL_DIRS": str(own / "scratch")}
        worker = running(log, "org.apache.spark.deploy.worker.Worker", *_LOOPBACK, *options, **environment)
        process = self.processes.enter_context(worker)
        wait_for_words(log, "Successfully registered", process)
        self.workers.append(process)
        return own


@contextmanager
def cluster(folder: Path, workers: int = WORKERS) -> Iterator[Cluster]:
    """Yields a standalone cluster on loopback."""
    port = str(free_port())
    log = folder / "master.log"
    with ExitStack() as processes:
        master = running(log, "org.apache.spark.deploy.master.Master", *_LOOPBACK, "--port", port)
        wait_for_words(log, "New state: ALIVE", processes.enter_context(master))
        started = Cluster(f"spark://127.0.0.1:{port}", folder, processes)
        for _ in range(workers):
            started.add_worker()
        yield started


@contextmanager
def s3_server(folder: Path) -> Iterator[str]:
    """Yields the host and port of an S3 server that knows one bucket, `landing`."""
    port, log = free_port(), folder / "s3.log"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with process_of(log, command) as process:
        wait_for_words(log, "Running on", process)
        bucket = Request(f"http://127.0.0.1:{port}/landing", method="PUT")
        with urlopen(bucket, timeout=60):
            yield f"127.0.0.1:{port}"


@contextmanager
def running(log: Path, *arguments: str, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A class of Spark's in a process of its own."""
    environment = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, **environment}
    with process_of(log, [str(SPARK_CLASS), *arguments], **environment) as process:
        yield process


@contextmanager
def process_of(log: Path, command: list[str], **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that is ended together with all that it has started."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*DIE_WITH_PARENT, *command],
            env={**os.environ, **environment},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        end(process)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ends a process and all that it has started: a worker's executors go with it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_for_words(log: Path, words: str, process: "subprocess.Popen[bytes]", seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while words not in (text := log.read_text(errors="replace")):
        assert process.poll() is None, text
        assert time.monotonic() < deadline, text
        time.sleep(0.2)


def wait_for_port(port: int, process: "subprocess.Popen[bytes]", log: Path, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while True:
        assert process.poll() is None, log.read_text(errors="replace")
        assert time.monotonic() < deadline, log.read_text(errors="replace")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.2)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
