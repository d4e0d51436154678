"""mousse report on runs made here: the page as a browser draws it, pictures, text, CSV and JSON.

    test_report_page.py PROGRAM             needs Chromium
    test_report_page.py --keep PROGRAM      writes the pictures that pages are compared with anew
"""
import csv
import html.parser
import json
import math
import pathlib
import re
import shutil
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import browser
import made_runs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "train"))
import harness  # noqa: E402

PROGRAM = sys.argv.pop()
HOSTILE = "a<img src=x onerror=document.body.dataset.errors=1>&amp;\"'`<script>b"
KEEP = "--keep" in sys.argv and sys.argv.remove("--keep") is None
PICTURES = pathlib.Path(__file__).resolve().parent / "pictures"
BLOCK = 10  # pixels of a page that are one of its kept picture


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
        return Dom(browser.dom(page))

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


class Looks(unittest.TestCase):
    """A sweep with a diverged run and two settings of one optimizer, seen by its pixels."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="mousse-looks-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.lab = harness.Lab(PROGRAM, cls.temporary.name)
        made_runs.write_sweep(cls.folder / "sweep")
        few = cls.folder / "few"
        for optimizer, level in (("mousse", 3.2), ("muon", 3.3)):
            made_runs.write_run(few, optimizer, 0.02, 1, level=level)
        made_runs.write_run(few, "mousse", 0.02, 1, level=3.1, options="opt.graft: off")
        made_runs.write_run(few, "mousse", 9, 1, diverges=True)
        for name in ("sweep", "few"):
            cls.lab.call("report", cls.folder / name, "-o", cls.page(name), "--json", cls.folder / f"{name}.json")
            page = cls.page(name)  # without what differs between machines and versions
            page.write_text(re.sub(r'"made_by":"[^"]*"|"machine":"[^"]*"',
                                   lambda m: m[0].split(":")[0] + ':"here"', page.read_text()))

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def page(cls, name):
        return cls.folder / f"{name}.html"

    def compare(self, name, shot):
        """A page looks as its kept picture does, but for a few of its squares."""
        path, small = PICTURES / f"{name}.png", browser.smaller(shot, BLOCK)
        if KEEP:
            PICTURES.mkdir(exist_ok=True)
            browser.write_png(path, *small)
        kept = browser.read_png(path.read_bytes())
        different = browser.difference(kept, small)
        if different > 0.04:
            browser.write_png(self.lab.program + f"-{name}-seen.png", *small)
        self.assertLess(different, 0.04, f"{name}: {100 * different:.1f}% of the picture differ from {path}; the "
                        f"page as seen is beside the program; '{pathlib.Path(__file__).name} --keep' takes it")

    def test_a_diverged_run_does_not_flatten_the_rest(self):
        chart = json.loads((self.folder / "few.json").read_text())["figures"][1]["charts"][0]
        self.assertEqual([s["name"] for s in chart["series"]],
                         ["mousse lr 0.02", "mousse lr 9 (diverged)", "mousse graft off", "muon"])
        low, high = chart["y"]["range"]
        self.assertTrue(3 < low < 3.2 and 6 < high < 6.5)
        self.compare("few-light", browser.picture(self.page("few"), 1100, 1900))

    def test_legends_have_the_dashes_of_their_lines(self):
        """The swatches of two settings of one optimizer: one without gaps, the others with."""
        script = """document.body.dataset.legend = JSON.stringify(drawn[0].chart.legend.legendItems.map((item, i) =>
            [item.text, item.lineDash, drawn[0].chart.data.datasets[i].borderDash]));"""
        dom = Dom(browser.dom(self.with_script(script)))
        items = json.loads(dom.body["data-legend"])
        dashes = {name: dash for name, dash, _ in items}
        for name, dash, drawn in items:
            self.assertEqual(dash, drawn, name)
        mousse = [json.dumps(dash) for name, dash in dashes.items() if name.startswith("mousse")]
        self.assertEqual(len(set(mousse)), len(mousse))

    def with_script(self, script, name="few"):
        copy = self.folder / "more.html"
        copy.write_text(self.page(name).read_text().replace("</body>", f"<script>{script}</script></body>"))
        return copy

    def test_dark(self):
        shot = browser.picture(self.page("sweep"), 1100, 2000, dark=True)
        self.assertTrue(all(c < 40 for c in shot[2][1995][:3]))
        self.compare("sweep-dark", shot)

    def test_a_phone(self):
        """400 pixels: nothing sticks out. Chromium's own window is never below 500."""
        frame = self.folder / "phone.html"
        frame.write_text("""<body style="margin:0"><iframe src="few.html" style="width:400px;height:2400px;border:0">
            </iframe></body>""")
        shot = browser.picture(frame, 500, 2400)
        self.compare("few-phone", (400, 2400, [row[:1200] for row in shot[2]]))
        script = """document.body.dataset.wide = [document.documentElement.scrollWidth, window.innerWidth].join();"""
        inner = self.with_script(script)
        outer = self.folder / "outer.html"
        outer.write_text(f"""<body><iframe id="f" style="width:400px;height:900px;border:0"></iframe><script>
            const f = document.getElementById("f"); f.srcdoc = {json.dumps(inner.read_text()).replace("</", "<" + chr(92) + "/")};
            f.onload = () => {{ document.body.dataset.wide = f.contentDocument.body.dataset.wide; }};</script></body>""")
        wide, window = map(int, Dom(browser.dom(outer)).body["data-wide"].split(","))
        self.assertEqual((wide, window), (400, 400))

    def test_other_axes(self):
        """A click on 'tokens', then 'seconds': every curve chart has the other places, and is drawn."""
        for view, label, last in ((1, "tokens", 400 * 8192), (2, "seconds", 400 * 0.11)):
            script = f"""document.querySelectorAll(".views")[0].children[{view}].click();
                const x = drawn[0].chart.scales.x;
                document.body.dataset.axis = JSON.stringify([x.options.title.text, x.max]);"""
            dom = Dom(browser.dom(self.with_script(script)))
            self.assertIsNone(dom.body.get("data-errors"))
            title, highest = json.loads(dom.body["data-axis"])
            self.assertEqual(title, label)
            self.assertTrue(math.isclose(highest, last, rel_tol=1e-6))
            self.assertEqual(set(dom.drawn), {"true"})

    def test_axes(self):
        """No loss below 0, error bars inside, and marks of log axes that are values and do not overlap."""
        script = """document.body.dataset.axes = JSON.stringify(drawn.map(({ chart, description, isBars }) => ({
            title: description.title, isBars, log: description.x.scale === "log", y: [chart.scales.y.min, chart.scales.y.max],
            ticks: chart.scales.x.ticks.map((tick) => [tick.label, chart.scales.x.getPixelForValue(tick.value)]),
            top: Math.max(...description.series.flatMap((s) => s.points.map((p) => p[1] + (p[2] || 0)))) })));"""
        axes = json.loads(Dom(browser.dom(self.with_script(script, "sweep"))).body["data-axes"])
        for axis in axes:
            self.assertGreaterEqual(axis["y"][0], 0, axis["title"])
            self.assertGreaterEqual(axis["y"][1], axis["top"], axis["title"])
        ticks = [axis["ticks"] for axis in axes if axis["log"]][0]
        self.assertEqual([label for label, _ in ticks], ["0.008", "0.02", "0.04", "0.08"])
        self.assertTrue(all(b[1] - a[1] > 30 for a, b in zip(ticks, ticks[1:])))

    def test_many_validations(self):
        runs = self.folder / "long"
        made_runs.write_run(runs, "muon", 0.02, 1, steps=60000, every=1)
        page = self.folder / "long.html"
        self.lab.call("report", runs, "-o", page, "--json", self.folder / "long.json")
        results = json.loads((self.folder / "long.json").read_text())
        points = results["figures"][1]["charts"][0]["series"][0]["points"]
        self.assertTrue(250 < len(points) < 310 and points[-1][0] == 60000)
        dom = Dom(browser.dom(page))
        self.assertIsNone(dom.body.get("data-errors"))
        self.assertEqual(set(dom.drawn), {"true"})

    def test_a_chart_of_any_length_is_drawn(self):
        """A document may have what our own reports leave out: 100,000 points."""
        results = json.loads((self.folder / "few.json").read_text())
        chart = results["figures"][1]["charts"][0]
        chart.pop("views")
        chart["series"] = [{"name": "muon", "points": [[i, 3 + 1 / (1 + i)] for i in range(100000)]}]
        (self.folder / "any.json").write_text(json.dumps(results))
        self.lab.call("report", self.folder / "any.json", "-o", self.folder / "any.html")
        dom = Dom(browser.dom(self.folder / "any.html"))
        self.assertIsNone(dom.body.get("data-errors"))
        self.assertEqual(set(dom.drawn), {"true"})

    def test_csv(self):
        self.lab.call("report", self.folder / "sweep", "--csv", self.folder / "tables")
        runs = list(csv.DictReader((self.folder / "tables" / "runs.csv").read_text().splitlines()))
        self.assertEqual(len(runs), 31)
        self.assertEqual({run["state"] for run in runs}, {"complete", "diverged"})
        self.assertEqual({run["opt.graft"] for run in runs}, {"", "off"})
        self.assertEqual({run["seed"] for run in runs}, {"1", "2", "3"})
        metrics = list(csv.DictReader((self.folder / "tables" / "metrics.csv").read_text().splitlines()))
        name = runs[0]["run"]
        lines = [json.loads(line) for line in (self.folder / "sweep" / name / "metrics.jsonl").read_text().splitlines()]
        rows = [row for row in metrics if row["run"] == name]
        self.assertEqual(len(rows), len(lines))
        for row, line in zip(rows, sorted(lines, key=lambda l: (l["step"], "val_loss" in l))):
            for key in ("loss", "val_loss", "val_bits_per_byte", "lr", "tokens"):
                self.assertEqual(row[key] != "", key in line, key)
                if key in line:
                    self.assertTrue(math.isclose(float(row[key]), line[key], rel_tol=1e-8))

    def test_bits_per_byte_are_told_where_known(self):
        table = json.loads((self.folder / "sweep.json").read_text())["figures"][0]["tables"][0]
        self.assertIn("bits per byte", table["columns"])
        row, at = table["rows"][0], table["columns"].index("bits per byte")
        loss = row[table["columns"].index("final loss")]
        self.assertTrue(math.isclose(row[at], loss / math.log(2) / 2.5, rel_tol=1e-6))

    def test_changed_options_are_told(self):
        """As a run directory tells it that was continued with others: threads say nothing of the result."""
        run = made_runs.write_run(self.folder / "changed", "muon", 0.05, 1)
        (run / "history.jsonl").write_text("".join(json.dumps({"step": step, "options": options}) + "\n" for step, options in (
            (0, {"lr": "0.02", "threads": "1"}), (100, {"lr": "0.05", "threads": "2"}),
            (250, {"lr": "0.05", "threads": "1", "opt.mu": "0.9"}))))
        text = self.lab.call("report", self.folder / "changed", "--text").stdout
        joined = " ".join(text.split())
        self.assertIn(f"{run.name}: options changed at step 100 (lr 0.02 to 0.05) and at step 250 "
                      "(opt.mu (default) to 0.9).", joined)

    def test_no_edge_with_one_learning_rate(self):
        finding = json.loads((self.folder / "sweep.json").read_text())["figures"][3]["finding"]
        self.assertIn("adamw 0.008", finding)
        self.assertNotIn("0.008*", finding)
        self.assertIn("Diverged: mousse lr 5", finding)

    def test_runs_that_are_not_finished(self):
        runs = self.folder / "unfinished"
        made_runs.write_run(runs, "muon", 0.02, 1, status="failed")
        results = self.folder / "unfinished.json"
        self.lab.call("report", runs, "--json", results, "-o", self.folder / "unfinished.html")
        self.assertNotIn("nan", results.read_text().lower().replace("nano", "").replace("finance", ""))
        self.assertIsNone(Dom(browser.dom(self.folder / "unfinished.html")).body.get("data-errors"))

    def test_a_run_that_never_validated(self):
        run = made_runs.write_run(self.folder / "unvalidated", "muon", 0.02, 1)
        lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
        (run / "metrics.jsonl").write_text("".join(line for line in lines if "val_loss" not in line))
        shown = " ".join(self.lab.call("report", run, "--text").stdout.split())
        self.assertIn("No run is complete and was validated after its last step", shown)

    def test_a_document_gets_its_page_beside_it(self):
        place = self.folder / "document"
        place.mkdir()
        shutil.copy(self.folder / "few.json", place / "results.json")
        done = self.lab.call("report", place / "results.json")
        self.assertEqual(done.stdout.strip(), str(place / "report.html"))
        self.assertTrue((place / "report.html").exists())
        (place / "empty.json").write_text("{}")
        done = self.lab.call("report", place / "empty.json", check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("empty.json", done.stderr)


if __name__ == "__main__":
    unittest.main()
