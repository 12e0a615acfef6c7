"""What `winnow bench pipeline` says of memory."""

import subprocess
import sys

from winnow.bench.memory import PeakMemory

HOLD = "import time; held = bytearray(300_000_000); held[::4096] = bytes(len(held[::4096])).replace(b'\\0', b'x'); "


def test_the_largest_process_below_this_one_since_the_last_look() -> None:
    memory = PeakMemory()
    with subprocess.Popen([sys.executable, "-c", HOLD + "print(flush=True); time.sleep(60)"], stdout=-1) as child:
        assert child.stdout
        child.stdout.readline()
        seen = memory.take()["peak python_worker_megabytes"]
        child.kill()
    assert 300 < seen < 500
    memory.take()
    assert memory.take().get("peak python_worker_megabytes", 0.0) < 300
    memory.close()
