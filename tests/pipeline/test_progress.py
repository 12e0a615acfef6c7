"""Workers' notes reach the bar; strangers' do not."""

import time

from winnow.pipeline.progress import Channel, Progress


def test_notes_add_up_and_strangers_are_ignored() -> None:
    progress = Progress("reading", host="127.0.0.1")
    with progress as channel:
        Channel(channel.host, channel.port, b"x" * 16).tell(1000)
        channel.tell(3)
        channel.tell(4)
        deadline = time.monotonic() + 5
        while progress._bar.n < 7 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert progress._bar.n == 7
