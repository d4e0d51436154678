"""The examples of docs/python.md and bindings/python/examples, as they stand there."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

root = pathlib.Path(__file__).resolve().parents[2]


class Examples(unittest.TestCase):
    def run_in(self, folder, *words):
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_guide(self):
        blocks = re.findall(r"```python\n(.*?)```", (root / "docs" / "python.md").read_text(), re.S)
        complete = [b for b in blocks if "import torch" in b]
        self.assertGreaterEqual(len(complete), 3)
        with tempfile.TemporaryDirectory() as folder:
            for number, code in enumerate(complete):
                path = pathlib.Path(folder) / f"example{number}.py"
                path.write_text(code)
                self.run_in(folder, sys.executable, str(path))

    def test_a_gpt_that_the_program_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder) / "text"
            text.write_text("the cat sat on the mat. the dog sat on the log. " * 300)
            script = root / "bindings" / "python" / "examples" / "train_gpt.py"
            said = self.run_in(folder, sys.executable, str(script), str(text), "--out", "model", "--steps", "40")
            losses = [float(x) for x in re.findall(r"loss (\d+\.\d+)", said)]
            self.assertLess(losses[-1], 0.7 * losses[0], said)
            program = os.environ["MOUSSE_PROGRAM"]
            spoken = self.run_in(folder, program, "generate", "--init", "model", "--tokenizer", "bytes", "--prompt", "the cat",
                                 "--tokens", "12", "--temperature", "0")
            self.assertIn("the cat sat", spoken)


if __name__ == "__main__":
    unittest.main()
