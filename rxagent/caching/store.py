"""What every store of answers can do."""

from __future__ import annotations

from typing import Protocol

from reactivex import Observable

from rxagent.caching.answer import KeptAnswer

__all__ = ["AnswerStore"]


class AnswerStore(Protocol):
    """Where answers are kept, each under a key, up to a number of them.

    Every method returns a cold observable that emits once: calling it does nothing, and
    each subscription does its work.  A failure is the error of the stream.  Time is
    that of the subscription's scheduler.

    `rxagent.testing.assert_answer_store_contract` checks all this.
    """

    def get(self, key: str) -> Observable[KeptAnswer | None]:
        """Look an answer up, which is then the last to be dropped.

        Args:
            key: A digest, in ASCII.

        Returns:
            Emits the answer; ``None`` if there is none, or its time is over.
        """
        ...

    def put(
        self, key: str, answer: KeptAnswer, *, ttl_s: float | None
    ) -> Observable[tuple[str, ...]]:
        """Keep an answer, in the place of one that has this key.

        Args:
            key: A digest, in ASCII.
            answer: Kept whole.
            ttl_s: After how many seconds it is forgotten; ``None`` is never.

        Returns:
            Emits the keys of other answers that had to go: of those that were not
            looked up for longest, if there are too many; of some whose time was over.
        """
        ...

    def clear(self) -> Observable[int]:
        """Forget everything.

        Returns:
            Emits how many answers there were.
        """
        ...
