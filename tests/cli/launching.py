"""Launches the program as a site would, in a folder that all of its nodes share."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from program import PEAKLINE, document

NODES = 2
PATIENCE_S = 120
# One point: the launching is tested.
MEASURE = f'exec {PEAKLINE} "$@" -q --device none --filter ^host.fma.fp64'


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.profiles = folder / "profiles"
        self.cleanup = contextlib.ExitStack()

    def script(self, name, text):
        file = self.folder / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return file

    def launch(self, command, peakline=MEASURE, **environment):
        """Runs a command, with this script for `peakline`."""
        path = f"{self.script('peakline', peakline).parent}:{os.environ['PATH']}"
        return subprocess.run(
            command,
            cwd=self.folder,
            capture_output=True,
            text=True,
            env=os.environ | environment | {"PATH": path},
            timeout=PATIENCE_S,
        )

    def written(self, launched, count=NODES):
        """The profiles written since the last call, which are removed."""
        assert launched.returncode == 0, launched.stderr
        files = sorted(self.profiles.glob("*.json"))
        assert len(files) == count, [file.name for file in files]
        found = []
        for file in files:
            profile = json.loads(file.read_text())
            assert profile["complete"]
            assert file.name in launched.stdout
            found.append(profile)
        if count > 1:
            fleet = document("fleet", self.profiles)
            # Two names of one host: the newer of two runs counts.
            assert (fleet["profiles"], fleet["superseded"]) == (NODES, NODES - 1)
        shutil.rmtree(self.profiles)
        return found


@contextlib.contextmanager
def new_site():
    # A short path, since that of a socket may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="peakline-", dir="/tmp") as folder:
        site = Site(Path(folder))
        with site.cleanup:
            yield site
