"""What tests of whole training runs share: a finished run, copies of it, and its checkpoints sealed again."""
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

import harness

PROGRAM = sys.argv.pop()
STEPS = 6


def contents(folder):
    """Every file below a folder, with its bytes."""
    return {path: path.read_bytes() for path in pathlib.Path(folder).rglob("*") if path.is_file()}


class TrainTest(unittest.TestCase):
    """One short run, `calm`, that every test may copy, and the lab that it was made in."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="mousse-train-")
        cls.lab = harness.Lab(PROGRAM, cls.temporary.name)
        cls.calm = cls.lab.folder / "calm"
        cls.lab.train(cls.calm, "mousse", STEPS)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def copy(self, name):
        out = self.lab.folder / name
        shutil.copytree(self.calm, out)
        self.addCleanup(shutil.rmtree, out)
        return out

    def failure(self, status, *words, **more):
        done = self.lab.call(*words, check=False, **more)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def seal(self, folder):
        """A manifest that is right for what is in the folder: the program tells the checksum."""
        while True:
            done = self.lab.call("checkpoint", "verify", folder.parent.parent, check=False)
            if done.returncode == 0:
                return
            words = done.stderr.replace(",", "").split()
            name = next(word for word in words if word.endswith(": ") or "/step-" in word)
            name = name.rstrip(":").rsplit("/", 1)[1]
            bytes_found, hash_found = words[words.index("bytes") - 1], \
                words[words.index("checksum") + 1]
            manifest = json.loads((folder / "manifest.json").read_text())
            manifest["files"][name] = {"bytes": int(bytes_found), "xxh3": hash_found}
            (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))
