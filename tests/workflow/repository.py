"""A small checkout with the tiny paper and a history of its own."""

import json
import os

from tests import programs
from tests.workflow import checkout


class Repository:
    """A checkout with the tiny paper, and a minute between two commits."""

    def __init__(self, folder):
        self.root = checkout.make(folder)
        self.minute = 0
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments):
        date = f"2026-01-01T00:{self.minute:02}:00+0000"
        dates = {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(self.root), *who, *arguments]
        return programs.run(command, env={**os.environ, **dates}, check=True).stdout.strip()

    def commit(self, *, yaml=None, verdicts=None):
        """Commit other files, a minute after the last ones."""
        self.minute += 1
        if yaml is not None:
            (self.root / "papers" / "mini.yaml").write_text(yaml)
        folder = self.root / "figures" / "reference" / "mini"
        folder.mkdir(parents=True, exist_ok=True)
        if verdicts is not None:
            (folder / "verdicts.json").write_text(json.dumps(verdicts))
        self.git("add", "papers", "figures")
        self.git("commit", "-q", "--allow-empty", "-m", "a")
