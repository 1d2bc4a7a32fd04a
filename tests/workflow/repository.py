"""A small checkout with the tiny paper and a history of its own."""

from __future__ import annotations

import json
import os
import subprocess

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
        done = subprocess.run(
            ["git", "-C", str(self.root), *who, *arguments],
            env={**os.environ, **dates},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, *, yaml=None, verdicts=None, runs=None):
        """Commit other files; returns what the ledger calls the commit."""
        self.minute += 1
        if yaml is not None:
            (self.root / "papers" / "mini.yaml").write_text(yaml)
        folder = self.root / "figures" / "reference" / "mini"
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in (("verdicts", verdicts), ("runs", runs)):
            if content is not None:
                (folder / f"{name}.json").write_text(json.dumps(content))
        self.git("add", "papers", "figures")
        self.git("commit", "-q", "--allow-empty", "-m", "a")
        return f"2026-01-01T00:{self.minute:02}:00Z {self.git('rev-parse', 'HEAD')[:10]}"

    def edit(self, old, new):
        path = self.root / "papers" / "mini.yaml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
