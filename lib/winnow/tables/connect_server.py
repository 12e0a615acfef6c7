"""A Spark Connect server with the settings that the tables need: clients of one server share one JVM and its caches.

The token goes through the environment (SPARK_CONNECT_AUTHENTICATE_TOKEN): arguments can be seen by all users of a
machine. A client then writes the host as `localhost`: pyspark takes only this name for a plain channel with a token.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark

from winnow.tables.jars import require_delta_jars
from winnow.tables.jvm import require_java
from winnow.tables.session import SETTINGS

TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


def server_command(port: int, *, master: str, settings: Mapping[str, str] | None = None) -> list[str]:
    """Returns the command of a server on loopback; `settings` go before those of the tables.

    >>> command = server_command(15002, master="local[2]", settings={"spark.sql.shuffle.partitions": "8"})
    >>> command[-1], "spark.master=local[2]" in command, "spark.sql.shuffle.partitions=8" in command
    ('spark-internal', True, True)
    """
    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    log = Path(__file__).with_name("log4j2.properties").as_uri()
    given = {
        **SETTINGS,
        "spark.master": master,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
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
    """Returns the environment of a server: its workers run this very interpreter."""
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return {"WINNOW_SPARK_LOG": "error", **os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **python}


def become_server(port: int, *, master: str) -> None:
    """Replaces this process by a server.

    Raises:
        UsageError: the Delta jars are not installed.
    """
    require_java()
    jars = require_delta_jars()
    command = server_command(port, master=master, settings={"spark.jars": ",".join(jars)} if jars else None)
    os.execvpe(command[0], command, server_environment())
