"""What goes up from one attempt besides facts: the streams, which its end waits for, and the output, which follows."""

from workers.host.messages import Stream
from workers.slice.outputs import Outputs
from workers.slice.upload import Uploader


class Reports:
    """The leader's `GangStreams`: the end of an attempt is told when its streams are through."""

    def __init__(self, streams: Uploader, outputs: Outputs) -> None:
        self.attempt_id = streams.attempt_id
        self.hosts = streams.hosts
        self._streams = streams
        self._outputs = outputs

    def start(self) -> None:
        self._streams.start()
        self._outputs.start()

    def finish(self, sizes: dict[int, dict[Stream, int]]) -> None:
        """Every process is gone: nothing grows any more."""
        self._streams.finish(sizes)
        self._outputs.finish()

    def finished(self) -> bool:
        return self._streams.finished()

    def refused(self) -> bool:
        return self._streams.refused()

    def quiet_ms(self) -> int:
        return self._streams.quiet_ms()

    def settled(self) -> bool:
        """Whether the attempt's files on the hosts may go."""
        return self._streams.finished() and self._outputs.finished()
