"""The JVM of a session: that there is a Java for it, and that its own lines are shown to those who ask for them."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from winnow.errors import UsageError

JAVA_HINT = "install one, e.g. `apt-get install openjdk-17-jre-headless`, or set JAVA_HOME; `winnow doctor` looks again"
_LAST = 5  # lines of a JVM that did not start


def java_command() -> str | None:
    """Returns the Java that Spark would start, if there is one."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(str(Path(home) / "bin" / "java") if home else "java")


def require_java() -> None:
    """
    Raises:
        UsageError: there is no Java.
    """
    if java_command() is None:
        home = os.environ.get("JAVA_HOME")
        where = f"in JAVA_HOME={home}" if home else "on PATH"
        raise UsageError("no_java", f"Spark needs Java 17 or 21, and there is none {where}", hint=JAVA_HINT)


@contextmanager
def quiet_start() -> Iterator[None]:
    """What a JVM that is started meanwhile writes to its standard error is kept from ours, as long as it lives.

    The launcher and the JVM print lines that no log setting reaches. WINNOW_SPARK_LOG shows them all.

    Raises:
        UsageError: the JVM did not start; the message has its last lines.
    """
    if os.environ.get("WINNOW_SPARK_LOG"):
        with _explained(None):
            yield
        return
    sys.stderr.flush()
    own = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            with _explained(file):
                yield
        finally:
            os.dup2(own, 2)
            os.close(own)


@contextmanager
def _explained(log: IO[bytes] | None) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if "JAVA_GATEWAY_EXITED" not in str(error):
            raise
        lines: list[str] = []
        if log:
            log.seek(0)
            lines = log.read().decode(errors="replace").strip().split("\n")
        said = " / ".join(line.strip() for line in lines[-_LAST:] if line.strip())
        message = f"Java ({java_command()}) did not start Spark{': ' if said else ''}{said}"
        raise UsageError("java_failed", message, hint=f"Java 17 or 21 is needed: {JAVA_HINT}") from error
