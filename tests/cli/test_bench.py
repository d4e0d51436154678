"""mousse bench: the keys that other programs read. No timing is asserted."""
import json
import unittest

from program import ProgramTest


OPTIMIZER_KEYS = {"name", "sides", "options", "ratio_to_plain_muon", "ratio_without_refresh", "worst_step_to_mean",
                  "state_bytes"}


class Bench(ProgramTest):
    timeout = 600

    def test_json(self):
        report = json.loads(self.output("bench", "--quick", "--json", "--quiet"))
        self.assertEqual(set(report), {"sgemm_gflops", "models", "optimizers", "whole_step", "threads"})
        self.assertGreater(report["sgemm_gflops"], 0)
        self.check_rows(report["models"], {"name", "tokens_per_s", "utilisation"})
        self.assertEqual([row["name"] for row in report["models"]], ["162M", "tiny", "nano"])
        self.check_rows(report["optimizers"], OPTIMIZER_KEYS)
        subjects = {(row["name"], row["sides"]): row for row in report["optimizers"]}
        for subject in [("mousse", "both"), ("mousse", "small"), ("muon", "none"), ("soap", "both")]:
            self.assertIn(subject, subjects)
        self.assertEqual(subjects["muon", "none"]["state_bytes"], 4 * 12 * 12 * 768**2)  # its momentum
        self.check_rows(report["whole_step"], {"tokens", "mousse_to_muon"})
        self.assertEqual([row["tokens"] for row in report["whole_step"]], [8192, 65536, 524288, 2097152])
        self.check_rows(report["threads"], {"threads", "speedup"})
        self.assertEqual(report["threads"][0], {"threads": 1, "speedup": 1.0})

    def test_profile(self):
        report = json.loads(self.output("bench", "--profile", "--quick", "--json", "--quiet"))
        self.assertEqual(set(report), {"sgemm_gflops", "memory_gigabytes", "profiles"})
        self.assertEqual([profile["model"] for profile in report["profiles"]], ["tiny", "nano"])
        for profile in report["profiles"]:
            rows = profile["rows"]
            self.assertEqual({row["limit"] for row in rows}, {"sgemm", "memory"})
            for row in rows:  # every kind of work was met
                self.assertGreater(row["share"], 0, row)
                self.assertGreater(row["of_limit"], 0, row)
            self.assertAlmostEqual(profile["waiting"] + sum(row["share"] for row in rows), 1, places=4)
        table = self.output("bench", "--profile", "--quick", "--quiet").decode()
        for row in rows:
            self.assertIn(row["work"], table)

    def check_rows(self, rows, keys):
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual(set(row), keys)
            for key in keys - {"name", "sides", "options"}:
                self.assertGreater(row[key], 0, f"{key} in {row}")

    def test_some_optimizers(self):
        """A name stands for all its rows, a name with options for one; nothing else is measured."""
        report = json.loads(self.output("bench", "--quick", "--json", "--quiet", "--optimizers",
                                        "lion,sgd:mu=0.5,mousse:sides=small:alpha=0.2"))
        self.assertEqual(set(report), {"optimizers"})
        self.check_rows(report["optimizers"], OPTIMIZER_KEYS)
        self.assertEqual([(row["name"], row["sides"], row["options"]) for row in report["optimizers"]],
                         [("lion", "none", ""), ("sgd", "none", "mu=0.5"), ("mousse", "small", "alpha=0.2")])

    def test_cores(self):
        """Predictions for what was asked, by rules that hold for any: never more than as many cores."""
        report = json.loads(self.output("bench", "--cores", "1,2,8,64", "--quick", "--layers", "1", "--json", "--quiet",
                                        "--bandwidth", "100000"))
        self.assertEqual((report["preset"], report["layers"], report["tokens_per_step"]), ("tiny", 1, 65536))
        for part in ("model", "optimizer", "step"):
            rows = report[part]["cores"]
            self.assertEqual([row["cores"] for row in rows], [1, 2, 8, 64])
            self.assertAlmostEqual(rows[0]["speedup"], 1, places=6)
            for row in rows:
                self.assertLessEqual(row["efficiency"], 1 + 1e-9)
                self.assertAlmostEqual(row["speedup"], report[part]["one_core_s"] / row["seconds"], places=3)
            self.assertGreater(report[part]["measured_here"], 0)
            self.assertTrue(rows[-1]["limits"])
            for limit in rows[-1]["limits"]:
                self.assertEqual(set(limit), {"loop", "waiting", "serial", "longest_item_s"})
        self.assertIn("step: update one", {limit["loop"] for limit in report["optimizer"]["cores"][-1]["limits"]})

    def test_mistakes(self):
        for cores in ("0", "4,", "4,x", "2000", ",".join(17 * "4")):
            self.assertIn("numbers from 1 to 1024", self.failure(2, "bench", "--cores", cores))
        self.assertIn("no model preset", self.failure(2, "bench", "--cores", "4", "--preset", "tinny"))
        for words in (("--cores", "4", "--profile"), ("--profile", "--optimizers", "sgd"), ("--optimizers", "sgd", "--cores", "2")):
            self.assertIn("only one of --cores, --profile and --optimizers", self.failure(2, "bench", *words))
        for name, value in (("preset", "nano"), ("batch", "128k"), ("bandwidth", "10")):
            self.assertIn(f"--{name} applies only with --cores", self.failure(2, "bench", f"--{name}", value))
        self.assertIn("--layers does not apply", self.failure(2, "bench", "--profile", "--layers", "2"))
        self.assertIn("from 0 to 12", self.failure(2, "bench", "--layers", "13"))
        self.assertIn("takes no arguments", self.failure(2, "bench", "162M"))
        for optimizers, sentence in {"sgd,soapmoun": "did you mean 'soapmuon'?",
                                     "zzzzzzzz": "'mousse help optimizers' lists them",
                                     "sgd,,lion": "no optimizer ''",
                                     "kfac": "more than gradients",
                                     "sgd:mo=1": "did you mean 'mu'?",
                                     "mousse:sides=smal": "did you mean 'small'?",
                                     "muon:you5": "write name=value",
                                     "soap:refresh_every=5": "spread over 10 steps",
                                     "sgd:" + 99 * "x": "too long"}.items():
            self.assertIn(sentence, self.failure(2, "bench", "--optimizers", optimizers))


unittest.main()
