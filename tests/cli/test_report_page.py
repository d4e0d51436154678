"""mousse report on runs made here: the page as a browser draws it, pictures, text and JSON.

    test_report_page.py PROGRAM        needs Chromium
"""
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "train"))
import harness  # noqa: E402

PROGRAM = sys.argv.pop()
HOSTILE = "a<img src=x onerror=document.body.dataset.errors=1>&amp;\"'`<script>b"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--virtual-time-budget=20000", "--window-size=1100,900"]


class Dom(html.parser.HTMLParser):
    """What the tests ask of a page: attributes of the body and charts, tables, ids, text."""

    def __init__(self, text):
        super().__init__()
        self.body, self.drawn, self.sections, self.canvases, self.images = {}, [], [], 0, 0
        self.tables, self.text, self.path = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.path.append(tag)
        if tag == "body":
            self.body = attributes
        if "data-drawn" in attributes:
            self.drawn.append(attributes["data-drawn"])
        if tag == "section":
            self.sections.append(attributes["id"])
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        self.canvases += tag == "canvas"
        self.images += tag == "img"

    def handle_endtag(self, tag):
        while self.path and self.path.pop() != tag:
            pass

    def handle_data(self, data):
        if "td" in self.path or "th" in self.path:
            self.tables[-1][-1][-1] += data
        if "script" not in self.path and "style" not in self.path:
            self.text.append(data)


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = shutil.which("chromium") or shutil.which("chromium-browser")
        assert cls.browser, "Chromium is missing (package chromium)"
        cls.temporary = tempfile.TemporaryDirectory(prefix="mousse-report-")
        cls.lab = harness.Lab(PROGRAM, cls.temporary.name)
        cls.runs = cls.lab.folder / "runs"
        for optimizer, seed in (("mousse", 1), ("mousse", 2), ("muon", 1)):
            cls.lab.train(cls.runs / f"{optimizer}-{seed}", optimizer, 12, "--seed", seed)
        shutil.copytree(cls.runs / "muon-1", cls.runs / HOSTILE)
        config = cls.runs / HOSTILE / "config.yaml"
        config.write_text(config.read_text().replace("seed: 1", "seed: 9"))
        for run in cls.runs.iterdir():
            (run / "result.json").write_text(json.dumps(
                {"status": "complete", "peak_bytes": 50 << 20, "wall_seconds": 1, "cpu_seconds": 1}))
        cls.page = cls.lab.folder / "report.html"
        cls.results = cls.lab.folder / "results.json"
        cls.pictures = cls.lab.folder / "pictures"
        cls.lab.call("report", cls.runs, "-o", cls.page, "--json", cls.results, "--svg", cls.pictures)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def open(self, page):
        with tempfile.TemporaryDirectory(prefix="mousse-browser-") as profile:
            done = subprocess.run([self.browser, *FLAGS, f"--user-data-dir={profile}", "--dump-dom",
                                   page.as_uri()], capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        return Dom(done.stdout)

    def check_drawn(self, dom, results):
        charts = sum(len(figure["charts"]) for figure in results["figures"])
        self.assertEqual(dom.body.get("data-errors"), None)
        self.assertEqual(dom.body.get("data-ready"), "true")
        self.assertEqual(dom.sections, [figure["id"] for figure in results["figures"]])
        self.assertEqual(len(dom.drawn), charts)
        self.assertEqual(dom.canvases, dom.drawn.count("true"))
        self.assertEqual(dom.images, 0)
        tables = [table for figure in results["figures"] for table in figure["tables"]]
        self.assertEqual(len(dom.tables), len(tables))
        for shown, table in zip(dom.tables, tables):
            self.assertEqual(shown[0], table["columns"])
            self.assertEqual(len(shown), 1 + len(table["rows"]))
            self.assertTrue(all(cell for row in shown for cell in row))

    def test_page_of_runs(self):
        results = json.loads(self.results.read_text())
        self.assertEqual([figure["id"] for figure in results["figures"]],
                         ["summary", "validation", "training", "lr-sweep", "cost", "runs"])
        dom = self.open(self.page)
        self.check_drawn(dom, results)
        self.assertEqual(set(dom.drawn), {"true"})
        self.assertIn(HOSTILE, [row[0] for row in dom.tables[-1]])
        self.assertEqual([row[0] for row in dom.tables[0][1:]], ["mousse", "muon"])
        self.assertEqual([row[2] for row in dom.tables[0][1:]], ["2", "2"])
        self.assertIn("Lowest final validation loss", "".join(dom.text))

    def test_page_of_any_document(self):
        """Gaps, log axes, bars of several series, nothing at all; and a colour per series."""
        def chart(x, y, *series):
            return {"title": "T", "x": x, "y": y, "series": [
                {"name": name, "points": points, "style": style, "color": "#d6336c", "dash": 0}
                for name, style, points in series]}
        log, linear = {"label": "x", "scale": "log"}, {"label": "y", "scale": "linear"}
        bars = {"label": "model", "categories": ["small", "large"]}
        results = {
            "title": HOSTILE, "made_by": "test", "command": HOSTILE, "machine": HOSTILE,
            "notes": [HOSTILE], "figures": [{
                "id": "all", "title": HOSTILE, "paper": HOSTILE, "finding": HOSTILE, "charts": [
                    chart(log, log, ("a", "line", [[1, 2, 0.1], [10, None], [100, 0.5]])),
                    chart(bars, linear, ("a", "bars", [[0, 1], [1, 2, 0.5]]), ("b", "bars", [[1, 3]])),
                    chart(linear, linear, ("a", "points", [[0, 0], [1, -1]])),
                    chart(linear, log, ("one", "line", [[5, 5]])),
                    chart(linear, linear, ("none", "line", [[0, None]])),
                    chart(linear, linear)],
                "tables": [{"title": HOSTILE, "columns": ["a", "b"], "rows": [
                    [HOSTILE, 1e-9], ["x", None], ["y", 12345678]]}], "runs": [HOSTILE]}]}
        text = self.page.read_text()
        data = json.dumps(results).replace("<", "\\u003c")
        text = re.sub(r'(id="results">\n).*?(</script>)', lambda m: m[1] + data + m[2], text, count=1,
                      flags=re.S)
        page = self.lab.folder / "any.html"
        page.write_text(text)
        dom = self.open(page)
        self.check_drawn(dom, results)
        self.assertEqual(dom.drawn, ["true"] * 4 + ["empty"] * 2)

    def test_page_needs_nothing_else(self):
        text = self.page.read_text()
        self.assertNotRegex(text, r'<(script|link|img)[^>]*(src|href)=')
        self.assertIn("default-src 'none'", text)

    def test_pictures(self):
        names = {"validation.svg", "validation-2.svg", "training.svg", "training-2.svg",
                 "lr-sweep.svg", "cost.svg", "cost-2.svg"}
        self.assertEqual({path.name for path in self.pictures.iterdir()}, names)
        for path in self.pictures.iterdir():
            xml.etree.ElementTree.parse(path)

    def test_text(self):
        text = self.lab.call("report", self.runs, "--text").stdout
        self.assertIn("Lowest final validation loss", text)
        self.assertIn("● mousse", text)
        self.assertFalse((self.runs / "report.html").exists())

    def test_a_target_can_be_set(self):
        text = self.lab.call("report", self.runs, "--text", "--target-loss", "2.5").stdout
        self.assertIn("steps to 2.5000", text)

    def test_default_place(self):
        run = self.runs / "mousse-1"
        done = self.lab.call("report", run)
        self.assertEqual(done.stdout.strip(), str(run / "report.html"))
        self.assertTrue((run / "report.html").exists())
        (run / "report.html").unlink()

    def test_nothing_to_report(self):
        done = self.lab.call("report", self.lab.data, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no runs in it", done.stderr)


if __name__ == "__main__":
    unittest.main()
