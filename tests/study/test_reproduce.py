"""mousse reproduce --scale smoke: every figure is there and filled from runs of that command."""
import glob
import json
import os
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "cli"))
from program import MOUSSE, ProgramTest  # noqa: E402

FIGURES = ("verdict tuning screening momentum extras lr-sweep wsd excessive-loss steps-saved pareto memory grafting trace-norm tempering sides refresh "
           "preconditioner beyond fine-tuning").split()


def numbers(chart):
    return [point[1] for series in chart["series"] for point in series["points"] if point[1] is not None]


class Reproduce(ProgramTest):
    timeout = 800

    def test_smoke_fills_every_figure(self):
        said = self.run_mousse("reproduce", "--scale", "smoke", "--out", "out").stderr.decode()
        self.assertIn("next: open out/report.html in a browser\n", said)
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
        self.check_care(results)
        self.check_fine_tuning(results["figures"][-1])
        shown = self.output("report", "out/results.json", "--text").decode()
        for figure in results["figures"]:
            self.assertIn(figure["title"][:40], shown)

    def check_run(self, name):
        result = json.loads(self.read(f"out/runs/{name}/result.json"))
        self.assertIn(result["status"], ("complete", "diverged", "hopeless"))

    def check_mean(self, results):
        """One figure's numbers again from the runs' own files: Muon in every regime, and what it gains over AdamW."""
        figures = {figure["id"]: figure for figure in results["figures"]}
        control, verdicts, throughout, fewer = figures["verdict"]["tables"]
        for table in (table for figure in results["figures"] for table in figure["tables"]):
            self.assertNotIn("seconds saved", " ".join(table["columns"]))  # the machine is not quiet, and the notes say so
        self.assertIn("not the times of a quiet one", " ".join(results["notes"]))
        self.assertIn("NorMuon in those called 'throughout'", " ".join(results["notes"]))
        tuned = {tuple(row[:2]): row[2:5] for row in figures["tuning"]["tables"][0]["rows"]}
        for regime, _, _, slope, difference, saved, low, high, _ in control["rows"]:
            losses = {who: self.final_losses(regime, who, *tuned[who, regime]) for who in ("muon", "adamw")}
            shorter = self.final_losses(regime, "muon, shorter", *tuned["muon", regime])
            mean = sum(losses["muon"]) / 2
            gain = (sum(losses["muon"]) - sum(losses["adamw"])) / 2
            text = [row[2] for row in verdicts["rows"] if row[:2] == ["muon", regime]][0]
            self.assertEqual(text.split()[0], f"{mean:.4f}")
            self.assertEqual(difference.split()[0], f"{gain:+.4f}")
            percent = 100 * (1 - 21 / 24)  # 88% of 24 steps are 21
            wanted = (sum(shorter) / 2 - mean) / percent
            if wanted > 0:
                self.assertAlmostEqual(slope, wanted, 6)
                self.assertAlmostEqual(saved, 100 * (1 - (21 / 24) ** (-gain / (wanted * percent))), 3)
                self.assertTrue((low is None or low <= saved) and (high is None or saved <= high))
            for who in ("muon", "mousse"):
                losses[who + " throughout"] = self.final_losses(regime, who + " throughout", *tuned[who + " throughout", regime])
            text = [row[1] for row in throughout["rows"] if row[0] == regime][0]
            gain = (sum(losses["mousse throughout"]) - sum(losses["muon throughout"])) / 2
            self.assertEqual(text.split()[0], f"{gain:+.4f}")
            for ours, theirs in (("mousse no-graft", "muon"), ("mousse throughout", "muon"), ("mousse throughout", "muon throughout")):
                short = self.final_losses(regime, ours + ", shorter", *tuned[ours, regime])
                text = [row[5] for row in fewer["rows"] if [row[0], row[1], row[4]] == [ours, regime, theirs]][0]
                self.assertEqual(text.split()[0], f"{(sum(short) - sum(losses[theirs])) / 2:+.4f}")

    def final_losses(self, regime, who, lr, momentum, factors):
        losses = []
        more = "" if factors == "as they are" else "," + factors
        for seed in (101, 102):
            name = f"cosine,{regime},{who}".replace(" ", "") + f",lr={lr:.4g},momentum={momentum:.4g}{more},seed={seed}"
            lines = [json.loads(line) for line in self.read(f"out/runs/{name}/metrics.jsonl").splitlines()]
            losses.append([line["val_loss"] for line in lines if "val_loss" in line][-1])
        return losses

    def check_care(self, results):
        """The same number of runs for everybody, and none of the verdict's seeds among those that chose."""
        figures = {figure["id"]: figure for figure in results["figures"]}
        rows = figures["tuning"]["tables"][0]["rows"]
        first = rows[0][1]
        self.assertEqual({row[6] for row in rows if row[1] == first}, {3 + 2})
        self.assertEqual({row[6] for row in rows if row[1] != first}, {1})
        self.assertGreater(len({row[0] for row in rows}), 6)

    def check_fine_tuning(self, figure):
        """Six ways of it, each from its own pretrained models, with old losses as 'mousse eval' has them."""
        rows = figure["tables"][0]["rows"]
        self.assertEqual([row[:2] for row in rows],
                         [[a, b] for a in ("adamw", "mousse") for b in ("adamw", "muon", "mousse")])
        tuned = [name for name in figure["runs"] if name.startswith("fine,") and name.endswith("seed=101")]
        self.assertEqual(len(tuned), 6)
        for name in tuned:
            self.assertIn(f"init: out/runs/cosine,16x1,128,{name.split(',')[4]},",
                          self.read(f"out/runs/{name}/run.yaml").decode().replace(self.folder + "/", "").replace('"', ""))
        wanted = 0
        for seed in (101, 102):
            name = [n for n in figure["runs"] if n.startswith("fine,cosine,16x1,128,adamw,muon") and n.endswith(f"seed={seed}")][0]
            result = self.output("eval", "--init", f"out/runs/{name}", "--data-dir", "out/data", "--val-tokens", "1024", "--json")
            wanted += json.loads(result)["loss"] / 2
        last = figure["charts"][1]["series"][1]["points"][-1]
        self.assertAlmostEqual(last[1], wanted, 6)

    def test_an_archive_knows_its_shards_under_another_name(self):
        self.make_data()
        words = ["reproduce", "sides", "--scale", "smoke", "--quiet", "--archive", "runs.jsonl", "--data-dir"]
        self.run_mousse(*words, "data", "--out", "here")
        lines = self.read("runs.jsonl")
        os.rename(self.path("data"), self.path("other"))
        self.assertNotIn(b"waiting", self.output(*words, "other", "--out", "there", "--dry-run"))
        self.run_mousse(*words, "other", "--out", "there")
        self.assertEqual(glob.glob(self.path("there/runs/*/checkpoints")), [])
        self.assertEqual(self.read("runs.jsonl").replace(b'"data_dir":"other"', b'"data_dir":"data"'), lines)

    def test_an_archive_of_finished_runs_goes_on_elsewhere(self):
        words = ["reproduce", "sides", "--scale", "smoke", "--quiet", "--archive", "runs.jsonl"]
        process = subprocess.Popen([MOUSSE, *words, "--out", "here"], cwd=self.folder)
        while not glob.glob(self.path("here/runs/*/result.json")):
            time.sleep(0.02)
        process.terminate()
        process.wait()
        before = len(self.read("runs.jsonl").splitlines())
        self.run_mousse(*words, "--out", "there")
        lines = [json.loads(line) for line in self.read("runs.jsonl").splitlines()]
        self.assertGreater(len(lines), before)
        self.assertEqual({line["options"]["data_dir"] for line in lines}, {"@/data"})
        # One that a kill left half made is not made again, and a line that was cut off is left out.
        begun = os.path.join(self.folder, "at last/runs", lines[0]["name"])
        os.makedirs(begun)
        open(os.path.join(self.folder, "at last/runs/lock"), "w").close()
        with open(os.path.join(begun, "lock"), "w") as file:
            file.write("mousse run\n")
        with open(os.path.join(self.folder, "there/runs", lines[1]["name"], "metrics.jsonl"), "a") as file:
            file.write('{"step": 1')
        self.run_mousse(*words, "--out", "there")
        self.assertEqual([json.loads(line) for line in self.read("runs.jsonl").splitlines()], lines)
        self.run_mousse(*words, "--out", "at last")
        self.assertFalse([path for path in os.listdir(os.path.join(self.folder, "at last/runs"))
                          if os.path.exists(os.path.join(self.folder, "at last/runs", path, "checkpoints"))])
        self.assertEqual(json.loads(self.read("at last/results.json"))["figures"],
                         json.loads(self.read("there/results.json"))["figures"])

    def test_fine_tuning_starts_from_the_end_of_a_run(self):
        """A run that was begun here, and is complete by an archive, has a checkpoint, but not of its end."""
        words = ["reproduce", "fine-tuning", "--scale", "smoke", "--archive", "runs.jsonl"]
        self.run_mousse(*words, "--out", "here")
        tuned = glob.glob(self.path("here/runs/fine,*,adamw,adamw,*,seed=1/run.yaml"))[0]
        origin = re.search(r'^init: .*here/runs/([^@"\n]*)', self.read(tuned).decode(), re.M)[1]
        os.makedirs(self.path("there/runs"))
        self.write("there/runs/lock", b"")
        self.run_mousse("train", "--config", f"here/runs/{origin}/run.yaml", "--out", f"there/runs/{origin}", "--num-iterations", "10", "--quiet")
        self.assertIn("runs failed", self.failure(1, *words, "--out", "there"))
        said = self.read(glob.glob(self.path("there/runs/fine,*,adamw,adamw,*/output.txt"))[0]).decode()
        self.assertIn("has no checkpoint of step 24; it has 10", said)

    def test_a_seed_that_diverged_makes_nobody_better(self):
        words = ["reproduce", "verdict", "--scale", "smoke", "--quiet", "--out", "out", "--regimes", "1", "--contenders", "mousse no-graft"]
        self.run_mousse(*words)
        result = glob.glob(self.path("out/runs/*,mousseno-graft,shorter,*,seed=101/result.json"))[0]
        self.write(result, self.read(result).replace(b"complete", b"diverged"))
        self.run_mousse(*words)
        tables = json.loads(self.read("out/results.json"))["figures"][0]["tables"]
        fewer = [table for table in tables if table["title"].startswith("With fewer steps")][0]
        self.assertEqual([row[-1] for row in fewer["rows"]], ["not all seeds ended"])

    def test_an_archive_belongs_to_its_text(self):
        """Its lines name the data they were made with: other data are refused, and old lines, which name none, are taken with one notice."""
        words = ["reproduce", "sides", "--scale", "smoke", "--archive"]
        self.run_mousse(*words, "runs.jsonl", "--out", "here")
        archive = self.read("runs.jsonl")
        lines = [json.loads(line) for line in archive.splitlines()]
        made = json.loads(self.read(f"here/runs/{lines[0]['name']}/history.jsonl").splitlines()[0])["data"]
        for line in lines:
            self.assertEqual(line["data"], {"train": made["train"], "val": made["val"]})
        self.write("other.txt", self.read("here/text.txt") + b"The end.\n")
        said = self.failure(2, *words, "runs.jsonl", "--out", "other", "--text", "other.txt")
        self.assertIn(f"runs.jsonl: line 1: {lines[0]['name']} was made with other training data", said)
        self.assertRegex(said, f"checksum is {made['train']}, that of other/data is [0-9a-f]{{16}}; "
                         "give the text that the archive was made with, or another --archive\n")
        self.assertEqual(os.listdir(self.path("other/runs")), ["lock"])
        self.assertEqual(self.read("runs.jsonl"), archive)
        # The same text elsewhere: nothing to say, and the lines stay what they are when they are packed again.
        said = self.run_mousse(*words, "runs.jsonl", "--out", "there").stderr.decode()
        self.assertNotIn("which text", said)
        self.assertEqual(self.read("runs.jsonl"), archive)
        self.check_config(lines)
        self.write("val.jsonl", json.dumps({**lines[0], "data": {"train": made["train"], "val": None}}).encode())
        said = self.failure(2, *words, "val.jsonl", "--out", "there")
        self.assertIn("other validation data: their checksum is none, that of there/data is " + made["val"], said)
        for line in lines:
            del line["data"], line["config"], line["result"]["step_seconds"]
        self.write("old.jsonl", "".join(json.dumps(line) + "\n" for line in lines).encode())
        said = self.run_mousse(*words, "old.jsonl", "--out", "other", "--text", "other.txt").stderr.decode()
        self.assertEqual(said.count(f"old.jsonl does not say which text {len(lines)} of its runs were made with"), 1, said)
        for line in map(json.loads, self.read("old.jsonl").splitlines()):
            self.assertNotIn("data", line)

    def test_a_dry_run_looks_into_the_archive(self):
        """It shows what unpacking would bring, and writes nothing."""
        words = ["reproduce", "sides", "lr-sweep", "--scale", "smoke", "--archive", "runs.jsonl"]
        self.run_mousse(*words, "--out", "here")
        shown = self.output(*words, "--out", "here", "--dry-run")
        self.assertNotIn(b"waiting", shown)
        self.assertEqual(self.output(*words, "--out", "there", "--dry-run"), shown)
        self.assertFalse(os.path.exists(self.path("there")))
        # One that has not ended here is as the archive has it; of some of the runs, the next ones wait.
        lines = self.read("runs.jsonl").splitlines(keepends=True)
        begun = f"here/runs/{json.loads(lines[0])['name']}"
        os.remove(self.path(f"{begun}/result.json"))
        self.assertEqual(self.output(*words, "--out", "here", "--dry-run"), shown)
        self.assertFalse(os.path.exists(self.path(f"{begun}/result.json")))
        self.write("runs.jsonl", b"".join(line for line in lines if json.loads(line)["options"]["seed"] == "1"))
        some = self.output(*words, "--out", "there", "--dry-run")
        self.assertIn(b"complete", some)
        self.assertIn(b"waiting", some)

    def test_no_search_waits_for_another(self):
        """What one contender found in its first runs leads to its next ones, whatever the others have."""
        words = ["reproduce", "verdict", "--scale", "smoke", "--regimes", "1", "--contenders", "mousse", "--archive", "runs.jsonl"]
        self.run_mousse(*words, "--quiet", "--out", "whole")
        lines = [json.loads(line) for line in self.read("runs.jsonl").splitlines()]
        mine = [line for line in lines if ",muon," in line["name"] and line["options"]["seed"] == "1"]
        self.write("runs.jsonl", "".join(json.dumps(line) + "\n" for line in mine).encode())
        shown = self.output(*words, "--out", "next", "--dry-run").decode().splitlines()
        self.assertGreater(sum("complete" in line for line in shown), 1)
        self.assertEqual(sum("waiting" in line for line in shown), 2, "AdamW and Mousse begin")

    def check_config(self, lines):
        """Unpacked runs have the files of options that they had, but for where they are."""
        for name in [line["name"] for line in lines]:
            here, there = (self.read(f"{place}/runs/{name}/config.yaml").decode().splitlines() for place in ("here", "there"))
            self.assertEqual([line.replace('"there/', '"here/') for line in there], here)

    def test_a_kill_costs_the_archive_some_seconds(self):
        words = ["reproduce", "sides", "--scale", "smoke", "--quiet", "--archive", "runs.jsonl"]
        process = subprocess.Popen([MOUSSE, *words, "--out", "here"], cwd=self.folder)
        while not os.path.exists(self.path("runs.jsonl")) or not self.read("runs.jsonl"):
            self.assertIsNone(process.poll(), "it ended without an archive")
            time.sleep(0.02)
        self.assertIsNone(process.poll(), "the archive came with the end")
        process.kill()
        process.wait()
        kept = [json.loads(line)["name"] for line in self.read("runs.jsonl").splitlines()]
        self.assertTrue(kept)
        self.run_mousse(*words, "--out", "there")
        made = [json.loads(line)["name"] for line in self.read("runs.jsonl").splitlines()]
        self.assertGreater(set(made), set(kept))
        for name in kept:
            self.assertFalse(os.path.exists(os.path.join(self.folder, "there/runs", name, "checkpoints")), "made again")

    def test_an_archive_that_cannot_be_written_is_told_before_the_first_run(self):
        said = self.failure(1, "reproduce", "sides", "--scale", "smoke", "--archive", "nowhere/runs.jsonl", "--out", "out")
        self.assertIn("nowhere", said)
        self.assertEqual(os.listdir(self.path("out/runs")), ["lock"])

    def test_a_damaged_archive_is_refused_by_its_line(self):
        words = ["reproduce", "sides", "--scale", "smoke", "--quiet", "--archive", "runs.jsonl", "--out", "out"]
        whole = {"name": "a", "options": {}, "result": {"status": "complete", "steps": 1}, "metrics": ""}
        for change, wanted in (({"name": "../a"}, "it has no name of a run"), ({"name": ".."}, "it has no name of a run"),
                               ({"metrics": 1}, "it lacks options or metrics"), ({"options": {"seed": 1}}, "is not a text"),
                               ({"options": {"sead": "1"}}, "sead"), ({"result": {"status": "fine"}}, "status is 'fine'"),
                               ({"config": []}, "its config is not an object"), ({"data": {"val": "0"}}, "its data are not two checksums")):
            with self.subTest(wanted), open(os.path.join(self.folder, "runs.jsonl"), "w") as file:
                file.write(json.dumps({**whole, **change}) + "\n")
                file.flush()
                said = subprocess.run([MOUSSE, *words], cwd=self.folder, capture_output=True).stderr.decode()
                self.assertIn("runs.jsonl: line 1: ", said)
                self.assertIn(wanted, said)
        self.assertEqual(os.listdir(os.path.join(self.folder, "out/runs")), ["lock"])

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

    def test_some_contenders_in_some_regimes(self):
        words = ["reproduce", "--scale", "smoke", "--quiet", "--out", "few", "--regimes", "1", "--contenders", "mousse no-graft"]
        self.run_mousse(*words)
        figures = {figure["id"]: figure for figure in json.loads(self.read("few/results.json"))["figures"]}
        self.assertEqual(list(figures), ["verdict", "tuning"])
        rows = figures["verdict"]["tables"][1]["rows"]
        self.assertEqual({(row[0], row[1]) for row in rows}, {(who, "16x1, 128") for who in ("adamw", "muon", "mousse no-graft")})
        # The first always takes part; those in between can be left out.
        self.run_mousse("reproduce", "verdict", "--scale", "smoke", "--quiet", "--out", "few", "--regimes", "3", "--contenders", "mousse no-graft")
        rows = json.loads(self.read("few/results.json"))["figures"][0]["tables"][0]["rows"]
        self.assertEqual([row[0] for row in rows], ["16x1, 128", "24x1, 256"])
        for wrong in ("0", "4", "1,x", "1-3", "1,"):
            self.assertIn("has 1 to 3", self.failure(2, "reproduce", "--scale", "smoke", "--regimes", wrong))
        # What the control says does not depend on who else took part.
        words[words.index("mousse no-graft")] = "muon"
        self.run_mousse(*words)
        figure = json.loads(self.read("few/results.json"))["figures"][0]
        fit = sum(row[-1] == "fit" for row in figure["tables"][0]["rows"])
        told = f"Of 1 regimes {fit} are fit" if fit else "In no regime does Muon save 15%"
        self.assertIn(told, figure["finding"])
        self.assertIn("did you mean 'soapmuon'", self.failure(2, "reproduce", "--contenders", "soapmoun"))
        self.assertIn("verdict, tuning and beyond", self.failure(2, "reproduce", "sides", "--contenders", "soap"))

    def test_few_contenders_beyond_the_paper(self):
        """The switches of Mousse and what they are compared with do not wait for the whole field."""
        self.run_mousse("reproduce", "beyond", "--scale", "smoke", "--quiet", "--out", "few", "--contenders", "normuon")
        figure = json.loads(self.read("few/results.json"))["figures"][0]
        self.assertEqual([row[0] for row in figure["tables"][0]["rows"]],
                         ["the paper's Mousse", "normuon", "inner only", "nesterov, alpha 0.25", "nesterov, small", "nesterov, left"])

    def test_unknown_figures_are_refused(self):
        self.assertIn("did you mean 'sides'", self.failure(2, "reproduce", "side"))


if __name__ == "__main__":
    unittest.main()
