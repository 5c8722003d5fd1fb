"""How a change's record lies in a commit: its files, read and written (spec page 6, "Generic forge")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from touchline.api import ForgeError
from touchline_forges.git_objects import GitObjects
from touchline_forges.records import (
    CHANGE_FILE,
    ChangeRecord,
    CommentRecord,
    comment_number,
    comment_path,
    parse_record,
)


@dataclass(frozen=True, slots=True)
class StoredChange:
    """A record as it lies in `commit` ("" before its first one); `others` are files that we do not know."""

    commit: str
    record: ChangeRecord
    comments: Mapping[int, str] = field(default_factory=dict)
    """Number to blob."""
    others: Mapping[str, str] = field(default_factory=dict)

    def edited(self, now: datetime, head_sha: str, **values: str) -> StoredChange:
        """The record with other values, observed at that head."""
        update = {**values, "head_sha": head_sha, "updated_at": now}
        return replace(self, record=self.record.model_copy(update=update))

    def with_comment(self, number: int, blob: str, now: datetime) -> StoredChange:
        """The record with one comment more."""
        record = self.record.model_copy(update={"updated_at": now})
        return replace(self, record=record, comments={**self.comments, number: blob})


class RecordFiles:
    """Reads and writes records as commits of the local object store."""

    def __init__(self, objects: GitObjects) -> None:
        self._objects = objects

    def read(self, commit: str, where: str) -> StoredChange:
        """The record in a commit; `where` names it in errors."""
        files = self._objects.files(commit)
        blob = files.pop(CHANGE_FILE, "")
        if not blob:
            raise ForgeError(f"{where} holds no {CHANGE_FILE}", fix="It was not written by touchline; remove that ref.")
        record = parse_record(ChangeRecord, self._objects.read(blob), where)
        comments = {number: files.pop(path) for path in list(files) if (number := comment_number(path))}
        return StoredChange(commit, record, comments, files)

    def write(self, stored: StoredChange, *, message: str) -> str:
        """The commit that holds the record, on top of the one that it was read from."""
        blob = self._objects.write(stored.record.to_bytes())
        files = {**stored.others, CHANGE_FILE: blob}
        files |= {comment_path(number): comment for number, comment in stored.comments.items()}
        return self._objects.write_commit(files, parent=stored.commit, message=message)

    def comment(self, blob: str, where: str) -> CommentRecord:
        """A comment; `where` names it in errors."""
        return parse_record(CommentRecord, self._objects.read(blob), where)
