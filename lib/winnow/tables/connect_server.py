"""A Spark Connect server with the settings that the tables need: clients of one server share one JVM and its caches.

The token goes through the environment (SPARK_CONNECT_AUTHENTICATE_TOKEN): arguments can be seen by all users of a
machine. On the same machine a client then writes the host as `localhost`; from others the channel is TLS, by a proxy
before the server, or plain where `;use_ssl=false` says so (`winnow.tables.session`).
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark

from winnow.errors import UsageError
from winnow.tables.jars import session_jars
from winnow.tables.jvm import require_java
from winnow.tables.session import SETTINGS, s3_settings

TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
LOOPBACK = "127.0.0.1"
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


def server_command(
    port: int, *, master: str, host: str = LOOPBACK, settings: Mapping[str, str] | None = None
) -> list[str]:
    """Returns the command of a server that listens on `host`; `settings` go before those of the tables.

    Executors find the driver at SPARK_LOCAL_IP, which is loopback if nothing else is said.

    >>> command = server_command(15002, master="local[2]", settings={"spark.sql.shuffle.partitions": "8"})
    >>> command[-1], "spark.master=local[2]" in command, "spark.sql.shuffle.partitions=8" in command
    ('spark-internal', True, True)
    """
    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    log = Path(__file__).with_name("log4j2.properties").as_uri()
    jars = session_jars()
    given = {
        **SETTINGS,
        **({"spark.jars": ",".join(jars)} if jars else {}),
        **s3_settings(),
        "spark.master": master,
        "spark.driver.host": os.environ.get("SPARK_LOCAL_IP", LOOPBACK),
        "spark.driver.bindAddress": os.environ.get("SPARK_LOCAL_IP", LOOPBACK),
        "spark.connect.grpc.binding.address": host,
        "spark.connect.grpc.binding.port": str(port),
        "spark.python.unix.domain.socket.enabled": "true",
        **(settings or {}),
    }
    memory = os.environ.get("WINNOW_DRIVER_MEMORY", "3g")
    options = f"-XX:+UseParallelGC -Dlog4j2.configurationFile={log}"
    command = [str(spark_class), "org.apache.spark.deploy.SparkSubmit", "--class", _SERVER, "--driver-memory", memory]
    command += ["--driver-java-options", options]
    command += [word for name, value in given.items() for word in ("--conf", f"{name}={value}")]
    return [*command, "spark-internal"]


def server_environment() -> dict[str, str]:
    """Returns the environment of a server: its workers run this very interpreter, if no other one is named."""
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return {"WINNOW_SPARK_LOG": "error", "SPARK_LOCAL_IP": LOOPBACK, **python, **os.environ}


def become_server(port: int, *, master: str, host: str = LOOPBACK) -> None:
    """Replaces this process by a server.

    Raises:
        UsageError: anybody could use it, there is no Java, or the Delta jars are not installed.
    """
    if host not in {LOOPBACK, "localhost", "::1"} and not os.environ.get(TOKEN):
        hint = f"set {TOKEN}; clients give it in their address"
        raise UsageError("no_token", f"a server on {host} without a token serves whoever reaches it", hint=hint)
    require_java()
    command = server_command(port, master=master, host=host)
    os.execvpe(command[0], command, server_environment())
