"""What `winnow bench pipeline` says of CPU time and memory."""

import subprocess
import sys

from winnow.bench.processes import ProcessWatch

WORK = """
import time
held = bytearray(300_000_000)
held[::4096] = b"x" * len(held[::4096])
while time.process_time() < 1.5:
    pass
print(flush=True)
time.sleep(60)
"""


def test_the_processes_below_this_one_since_the_last_look() -> None:
    processes = ProcessWatch()
    with subprocess.Popen([sys.executable, "-c", WORK], stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.readline()
        seen = processes.take()
        child.kill()
    assert 300 < seen["peak python_worker_megabytes"] < 500
    assert 1.4 < seen["cpu_seconds"] < 3
    processes.take()  # of the child, which has ended
    later = processes.take()
    assert later.get("peak python_worker_megabytes", 0.0) < 300
    assert later["cpu_seconds"] < 1
    processes.close()
