"""Conversations as rows: what is said to the database, over one connection."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, and_, delete, insert, select, update

from rxagent.integrations.sql.tables import Tables
from rxagent.memory.conversation import Conversation, ConversationInfo
from rxagent.memory.rows import messages_of, rows_of
from rxagent.memory.versions import next_version
from rxagent.messages import Message

__all__ = ["Rows"]


class Rows:
    """A store's rows, over a connection with a transaction of its own.

    Args:
        connection: Used, and not closed.
        tables: Where they are.
    """

    def __init__(self, connection: Connection, tables: Tables) -> None:
        self._execute = connection.execute
        self._infos = tables.conversations
        self._messages = tables.messages

    def load(self, conversation_id: str) -> Conversation:
        """Read a conversation, whole; an empty one if there is none."""
        infos, messages = self._infos, self._messages
        # One statement, so that a database in any isolation shows one version of it.
        found = self._execute(
            select(infos.c.version, messages.c.message)
            .outerjoin(messages, messages.c.conversation_id == infos.c.id)
            .where(infos.c.id == conversation_id)
            .order_by(messages.c.position)
        ).all()
        rows = [row.message.encode() for row in found if row.message is not None]
        return Conversation(
            id=conversation_id,
            messages=messages_of(conversation_id, rows),
            version=found[0].version if found else 0,
        )

    def version(self, conversation_id: str) -> int:
        """The version of a conversation; 0 if there is none."""
        infos = self._infos
        version = select(infos.c.version).where(infos.c.id == conversation_id)
        return int(self._execute(version).scalar() or 0)

    def write(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected: int | None,
        replaces: bool,
        now: datetime,
    ) -> int:
        """Put messages behind the others, or in their place; return the new version.

        Raises:
            ConflictError: If the conversation is not at the ``expected`` version.
        """
        infos = self._infos
        values = {"updated_at": now.astimezone(UTC).replace(tzinfo=None)}
        here = infos.c.id == conversation_id
        as_expected = (
            here if expected is None else and_(here, infos.c.version == expected)
        )
        count = len(messages) if replaces else infos.c.messages + len(messages)
        # The update comes first: it waits for whoever writes this conversation now, and
        # keeps others waiting until the end.
        updated = self._execute(
            update(infos)
            .where(as_expected)
            .values(version=infos.c.version + 1, messages=count, **values)
        )
        if updated.rowcount:
            row = self._execute(select(infos).where(here)).one()
            version, total = int(row.version), int(row.messages)
        else:
            # If somebody begins it at the same moment, one of us is refused and, if
            # nothing was expected, comes again.
            found = self.version(conversation_id)
            next_version(conversation_id, found=found, expected=expected)
            version, total = 1, len(messages)
            self._execute(
                insert(infos).values(
                    id=conversation_id, version=version, messages=total, **values
                )
            )
        if replaces:
            self._forget_messages(conversation_id)
        if messages:
            self._execute(
                insert(self._messages),
                [
                    {
                        "conversation_id": conversation_id,
                        "position": position,
                        "message": row.decode(),
                    }
                    for position, row in enumerate(
                        rows_of(messages), total - len(messages)
                    )
                ],
            )
        return version

    def delete(self, conversation_id: str) -> bool:
        """Forget a conversation; return whether there was one."""
        gone = self._execute(
            delete(self._infos).where(self._infos.c.id == conversation_id)
        )
        self._forget_messages(conversation_id)
        return gone.rowcount > 0

    def page(self, *, limit: int, after: str | None) -> list[ConversationInfo]:
        """List conversations in the order of their ids."""
        infos = self._infos
        page = select(infos).order_by(infos.c.id).limit(limit)
        if after is not None:
            page = page.where(infos.c.id > after)
        return [
            ConversationInfo(
                id=row.id,
                messages=row.messages,
                version=row.version,
                updated_at=row.updated_at.replace(tzinfo=UTC),
            )
            for row in self._execute(page)
        ]

    def _forget_messages(self, conversation_id: str) -> None:
        mine = self._messages.c.conversation_id == conversation_id
        self._execute(delete(self._messages).where(mine))
