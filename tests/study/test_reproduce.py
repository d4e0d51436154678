"""mousse reproduce --scale smoke: every figure is there and filled from runs of that command."""
import json
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "cli"))
from program import MOUSSE, ProgramTest  # noqa: E402

FIGURES = ("lr-sweep wsd excessive-loss steps-saved pareto memory grafting trace-norm tempering sides refresh "
           "preconditioner beyond").split()


def numbers(chart):
    return [point[1] for series in chart["series"] for point in series["points"] if point[1] is not None]


class Reproduce(ProgramTest):
    timeout = 800

    def test_smoke_fills_every_figure(self):
        self.run_mousse("reproduce", "--scale", "smoke", "--out", "out", "--quiet")
        results = json.loads(self.read("out/results.json"))
        page = self.read("out/report.html").decode()
        self.assertEqual([figure["id"] for figure in results["figures"]], FIGURES)
        for figure in results["figures"]:
            with self.subTest(figure["id"]):
                self.assertIn(figure["id"], page)
                self.assertTrue(figure["finding"])
                self.assertTrue(figure["charts"])
                for chart in figure["charts"]:
                    self.assertTrue(numbers(chart), chart["title"])
                for table in figure["tables"]:
                    self.assertTrue(table["rows"], table["title"])
                self.assertTrue(figure["runs"])
                for run in figure["runs"]:
                    self.check_run(run)
        self.check_mean(results)
        shown = self.output("report", "out/results.json", "--text").decode()
        for figure in results["figures"]:
            self.assertIn(figure["title"][:40], shown)

    def check_run(self, name):
        result = json.loads(self.read(f"out/runs/{name}/result.json"))
        self.assertIn(result["status"], ("complete", "diverged"))

    def check_mean(self, results):
        """One figure's number again from the runs' own files."""
        row = results["figures"][0]["tables"][0]["rows"][1]
        size, optimizer, lr, _, text = row[:5]
        losses = []
        for seed in (1, 2):
            path = f"out/runs/cosine,{size},{optimizer},lr={lr:g},seed={seed}/metrics.jsonl"
            lines = [json.loads(line) for line in self.read(path).splitlines()]
            losses.append([line["val_loss"] for line in lines if "val_loss" in line][-1])
        self.assertEqual(text.split()[0], f"{sum(losses) / 2:.4f}")

    def test_killed_and_started_again_it_gives_the_same(self):
        words = ["reproduce", "sides", "--scale", "smoke", "--quiet"]
        self.run_mousse(*words, "--out", "whole")
        for delay in (0.5, 1.0):
            process = subprocess.Popen([MOUSSE, *words, "--out", "killed"], cwd=self.folder)
            time.sleep(delay)
            process.kill()
            process.wait()
        self.run_mousse(*words, "--out", "killed")
        self.assertEqual(self.losses("killed"), self.losses("whole"))
        plan = self.output(*words, "--out", "killed", "--dry-run").decode()
        self.assertIn("complete", plan)
        self.assertNotIn("waiting", plan)

    def losses(self, directory):
        figure = json.loads(self.read(f"{directory}/results.json"))["figures"][0]
        points = [[series["name"], series["points"]] for chart in figure["charts"] for series in chart["series"]]
        return figure["finding"], points, [row[:5] for row in figure["tables"][0]["rows"]]

    def test_unknown_figures_are_refused(self):
        self.assertIn("did you mean 'sides'", self.failure(2, "reproduce", "side"))


if __name__ == "__main__":
    unittest.main()
