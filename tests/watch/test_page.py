"""The page of mousse watch in headless Chromium: while a run trains, with hostile names, on a phone, by keyboard.

    test_page.py PROGRAM                    needs Chromium
    test_page.py --pictures DIR PROGRAM     also leaves pictures of the pages in DIR
"""
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop()
PICTURES = None
if "--pictures" in sys.argv:
    at = sys.argv.index("--pictures")
    PICTURES = pathlib.Path(sys.argv[at + 1])
    del sys.argv[at:at + 2]

import server  # noqa: E402  (sets the way to the next ones)
import devtools  # noqa: E402
import harness  # noqa: E402
import made_runs  # noqa: E402

HOSTILE = "a<img src=x onerror=document.body.dataset.errors=1>&amp;\"'`<script>b"
LAYERS = [f"h.{layer}.{part}" for layer in range(4) for part in ("attn.q", "attn.k", "attn.v", "attn.o", "mlp.up", "mlp.down")]


def add_telemetry(run, matrices, steps):
    """Made-up curvature: smooth, another one for each matrix."""
    lines = (run / "metrics.jsonl").read_text().splitlines(True)
    with open(run / "metrics.jsonl", "w") as file:
        for line in lines:
            file.write(line)
            step = json.loads(line)["step"]
            if "val_loss" in line or step % (steps // 60) != 0:
                continue
            for i, matrix in enumerate(matrices):
                wave = math.sin(0.9 * i) + math.log(1 + step) + 0.2 * math.sin(step / 23 + i)
                entry = {"step": step, "matrix": matrix, "grad_norm": math.exp(-wave / 4), "update_rms": 0.2 + 0.02 * i,
                         "ns_residual": 0.3, "left_condition": math.exp(2 * wave), "right_condition": math.exp(wave),
                         "fallbacks": 0}
                for side in ("left", "momentum"):
                    for k, name in enumerate(("min", "q10", "q50", "q90", "max")):
                        entry[f"{side}_{name}"] = math.exp(wave * (k - 2))
                file.write(json.dumps(entry) + "\n")


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="mousse-page-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.runs = cls.folder / "runs"
        made_runs.write_sweep(cls.runs / "sweep")
        made_runs.write_run(cls.runs, "muon", 0.02, 9, steps=30).rename(cls.runs / HOSTILE)
        cls.curved = made_runs.write_run(cls.runs, "mousse", 0.03, 1, steps=1200, every=50)
        add_telemetry(cls.curved, LAYERS, 1200)
        with open(cls.curved / "events.jsonl", "w") as file:
            for step, event, text in ((0, "started", None), (600, "checkpoint", None), (600, "sample", HOSTILE),
                                      (700, "notice", "the loss rose: " + HOSTILE)):
                file.write(json.dumps({"step": step, "time": "2026-01-31T12:00:00Z", "event": event, "text": text}) + "\n")
        cls.server = server.Server(PROGRAM, cls.runs)
        cls.page = devtools.Page()

    @classmethod
    def tearDownClass(cls):
        cls.page.__exit__()
        cls.server.__exit__()
        cls.temporary.cleanup()

    def setUp(self):
        self.page.size(1200, 900)
        self.page.dark(False)

    def tearDown(self):
        self.assertEqual(self.page.errors(), [None, []])

    def go(self, place=""):
        self.page.go("about:blank")
        self.page.go(self.server.address + place)
        self.page.wait("document.body.dataset.ready > 0")

    def keep(self, name):
        if PICTURES:
            PICTURES.mkdir(exist_ok=True)
            self.page.picture(PICTURES / f"{name}.png")

    def test_table(self):
        self.go()
        self.page.wait("document.querySelectorAll('table.runs tbody tr').length === 33")
        self.assertEqual(self.page.ask("document.querySelectorAll('img').length"), 0)
        names = self.page.ask("[...document.querySelectorAll('table.runs td.name a')].map((a) => a.textContent)")
        self.assertIn(HOSTILE, names)
        self.assertEqual(self.page.ask("document.getElementById('live').textContent"), "live")
        best = "[...document.querySelectorAll('table.runs td[data-label=best]')].map((c) => c.textContent)"
        self.page.ask("[...document.querySelectorAll('th button')].find((b) => b.textContent === 'best').click()")
        losses = [float(text) for text in self.page.ask(best) if text != "\u2013"]
        self.assertEqual(losses, sorted(losses))
        self.page.ask("""{ const f = document.querySelector('input[type=search]'); f.value = 'adamw';
                           f.dispatchEvent(new Event('input')); }""")
        self.assertEqual(self.page.ask("document.querySelectorAll('table.runs tbody tr').length"), 3)
        self.keep("runs")

    def test_stream(self):
        """A tab that nobody sees holds no connection; one that was refused asks again."""
        self.go()
        is_open = "stream !== null && stream.readyState === EventSource.OPEN"
        hide = "Object.defineProperty(document, 'hidden', { configurable: true, get: () => %s });" \
               "document.dispatchEvent(new Event('visibilitychange'))"
        self.page.wait(is_open)
        self.page.ask(hide % "true")
        self.assertTrue(self.page.ask("stream === null"))
        self.page.ask(hide % "false")
        self.page.wait(is_open)
        # As a browser does after a status other than 200.
        self.page.ask("stream.close(); stream.dispatchEvent(new Event('error'))")
        self.assertEqual(self.page.ask("document.getElementById('live').textContent"), "no connection; trying again")
        self.page.wait(is_open)
        self.page.wait("document.getElementById('live').textContent === 'live'")

    def test_order_of_a_comparison(self):
        """A table keeps the order that somebody chose when the comparison is drawn anew."""
        self.go("#/compare")
        self.page.wait("document.querySelectorAll('.figure tbody tr').length > 3")
        names = "[...document.querySelectorAll('.figure table')].map((t) => [...t.tBodies[0].rows].map((r) => r.cells[0].textContent))"
        before = self.page.ask(names)
        click = "document.querySelector('.figure th button').click()"
        self.page.ask(click + ", " + click)
        chosen = self.page.ask(names)
        self.assertNotEqual(chosen, before)
        self.page.ask("""{ const page = shownPage.page; page.signature = '';
                           page.parent.firstChild.dataset.old = 'yes'; page.update(); }""")
        self.page.wait("document.querySelectorAll('.figure').length > 0 && !document.querySelector('.figure[data-old]')")
        self.assertEqual(self.page.ask(names), chosen)
        self.assertEqual(self.page.ask("document.querySelector('.figure th').getAttribute('aria-sort')"), "descending")

    def test_sweep_map(self):
        self.go()
        cells = self.page.wait("""(() => { const cells = [...document.querySelectorAll('table.map td')].map((c) =>
            [c.textContent, c.style.background]); return cells.length && cells; })()""")
        self.assertTrue(any(text == "3.2415" or text.startswith("3.") for text, _ in cells))
        self.assertGreater(len({color for _, color in cells if color}), 3)
        self.assertEqual(self.page.ask("document.querySelectorAll('table.map td.best').length"), 1)
        self.page.ask("document.querySelector('.sweep').scrollIntoView()")
        self.keep("sweep")

    def test_keyboard(self):
        """Tab reaches the first run; Enter opens it."""
        self.go("#/")
        for _ in range(60):
            self.page.press("Tab", 9)
            if (self.page.ask("document.activeElement.dataset.key") or "").startswith("run "):
                break
        self.assertTrue(self.page.ask("document.activeElement.matches(':focus-visible')"))
        self.page.press("Enter", 13)
        self.page.wait("location.hash.startsWith('#/run/')")

    def test_skip_link(self):
        """The first Tab leads to the content of the page that is shown, not to another page."""
        self.go("#/run/" + self.curved.name)
        self.page.press("Tab", 9)
        self.assertEqual(self.page.ask("document.activeElement.className"), "skip")
        self.page.press("Enter", 13)
        self.page.wait("document.activeElement.id === 'content'")
        self.assertEqual(self.page.ask("[location.hash, shownPage.page instanceof RunPage]"),
                         ["#/run/" + self.curved.name, True])

    def test_an_address_that_is_no_address(self):
        self.go("#/elsewhere/100%")
        self.page.wait("document.querySelectorAll('table.runs tbody tr').length === 33")

    def test_run(self):
        self.go("#/run/" + self.curved.name)
        self.page.wait("document.querySelector('.chart.wide').dataset.drawn === 'true'")
        self.assertGreater(int(self.page.ask("document.querySelector('.chart.wide').dataset.points")), 500)
        axis = "shownPage.page.charts.loss.chart.scales.x.max"
        self.assertEqual(self.page.ask(axis), 1200)
        self.page.ask("document.querySelectorAll('.toolbar .views')[0].children[1].click()")
        self.assertEqual(self.page.ask(axis), 1200 * 8192)
        self.page.ask("document.querySelectorAll('.toolbar .views')[1].children[1].click()")
        self.assertEqual(self.page.ask("shownPage.page.charts.loss.chart.scales.y.type"), "logarithmic")
        self.page.ask("document.querySelectorAll('.toolbar .views')[1].children[0].click()")
        self.page.ask("document.querySelectorAll('.toolbar .views')[0].children[0].click()")
        self.assertEqual(self.page.ask("document.querySelector('.sample blockquote').textContent"), HOSTILE)
        self.assertEqual(self.page.ask("document.querySelectorAll('img').length"), 0)
        kinds = self.page.ask("[...document.querySelectorAll('.timeline .kind')].map((k) => k.textContent)")
        self.assertEqual(kinds, ["notice", "checkpoint", "started"])
        self.assertGreater(self.page.ask("document.querySelectorAll('.options tr').length"), 30)
        self.keep("run")

    def test_curvature(self):
        self.go("#/run/" + self.curved.name)
        self.page.wait("document.querySelector('.curvature').dataset.drawn === 'true'")
        self.assertEqual(self.page.ask("document.querySelectorAll('.heat .rows button').length"), len(LAYERS))
        colors = self.page.ask("""(() => { const c = document.querySelector('.heat canvas'), colors = new Set();
            const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            for (let i = 0; i < data.length; i += 4) colors.add(data.slice(i, i + 4).join());
            return [c.width, c.height, colors.size]; })()""")
        self.assertEqual(colors[:2], [60, len(LAYERS)])
        self.assertGreater(colors[2], 40)
        self.page.ask("document.querySelector('.heat .rows button').click()")
        self.page.wait("document.querySelectorAll('.curvature .chart[data-drawn=true]').length >= 5")
        titles = self.page.ask("[...document.querySelectorAll('.curvature h3')].map((h) => h.textContent)")
        self.assertIn("h.0.attn.q: L: spectrum", titles)
        self.page.ask("document.querySelector('.curvature').scrollIntoView()")
        self.keep("curvature")

    def test_curvature_that_comes_late(self):
        """What was asked for first is not drawn under the name of what was chosen since."""
        self.go("#/run/" + self.curved.name)
        self.page.wait("document.querySelector('.curvature').dataset.drawn === 'true'")
        self.page.ask("""{ const usual = ask; let first = true; ask = async (path, query) => {
            const isLate = first && path === 'api/curvature';
            if (isLate) first = false;
            const answer = await usual(path, query);
            if (isLate) await new Promise((done) => setTimeout(done, 500));
            return answer; }; }""")
        self.page.ask("""{ const map = shownPage.page.curvature;
            map.update().then(() => { document.body.dataset.late = 'true'; });
            map.select.value = 'grad_norm'; map.select.dispatchEvent(new Event('change')); }""")
        self.page.wait("document.body.dataset.late === 'true'")
        known = self.server.json("/api/curvature", run=self.curved.name, quantity="grad_norm")
        self.assertEqual(self.page.ask("shownPage.page.curvature.data.rows[0][0]"), known["rows"][0][0])

    def test_comparison(self):
        """Chosen runs on one chart, seeds as a band; saved, it is a report."""
        names = [f"sweep/{o}-lr0.04-seed{s}" for o in ("mousse", "muon") for s in (1, 2, 3)]
        self.go("#/")
        self.page.wait("document.querySelectorAll('table.runs tbody tr').length > 3")
        for name in names:
            self.page.ask(f"document.querySelector('tr[data-run=\"{name}\"] input').click()")
        self.page.ask("document.querySelector('a.button.primary').click()")
        self.page.wait("document.querySelectorAll('.figure').length > 3")
        self.assertEqual(self.page.ask("drawn[0].chart.data.datasets.map((d) => d.label)"), ["mousse", "muon"])
        self.assertTrue(self.page.ask("drawn[0].chart.data.datasets[0].data.some((p) => p.s > 0)"))
        self.assertEqual(set(self.page.ask("[...document.querySelectorAll('.figure .chart')].map((c) => c.dataset.drawn)")),
                         {"true"})
        self.keep("comparison")
        address = self.page.ask("document.querySelector('a[download]').href")
        report = self.server.get(address[address.index("/report"):])[2].decode()
        self.assertIn('id="results"', report)
        self.assertIn("Lowest final validation loss: mousse", report)

    def wide(self):
        return self.page.ask("[document.documentElement.scrollWidth, window.innerWidth]")

    def test_phone(self):
        self.page.size(390, 844, phone=True)
        for place, name in (("#/", "phone-runs"), ("#/run/" + self.curved.name, "phone-run"), ("#/compare", "phone-compare")):
            self.go(place)
            self.page.wait("document.querySelectorAll('.figure, .chart[data-drawn=true], table.runs tr').length > 1")
            self.assertEqual(self.wide(), [390, 390], place)
            self.assertEqual(self.page.ask("""[...document.querySelectorAll('main *')].filter((e) => !e.closest('.scroll') &&
                e.checkVisibility() && e.getBoundingClientRect().right > 391).map((e) => e.outerHTML.slice(0, 80))"""), [])
            self.keep(name)

    def test_dark(self):
        self.page.dark()
        self.go("#/run/" + self.curved.name)
        self.page.wait("document.querySelector('.chart.wide').dataset.drawn === 'true'")
        self.assertEqual(self.page.ask("getComputedStyle(document.body).backgroundColor"), "rgb(19, 20, 23)")
        self.keep("dark-run")
        self.go()
        self.keep("dark-runs")

    def test_contrast(self):
        """Every piece of text has at least 4.5 to 1 against what is behind it, light and dark."""
        script = """(() => {
          const parse = (c) => c.match(/[\\d.]+/g).map(Number);
          const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
          const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
            if (c.length < 4 || c[3] > 0.5) return c; } return [255, 255, 255]; };
          return [...document.querySelectorAll('main *, header *')].filter((e) => e.checkVisibility() && !e.closest('.unseen') &&
              [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()))
            .map((e) => { const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
              return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.className, e.textContent.slice(0, 40)]; })
            .filter(([ratio]) => ratio < 4.5); })()"""
        for dark in (False, True):
            self.page.dark(dark)
            for place in ("#/", "#/run/" + self.curved.name):
                self.go(place)
                self.page.wait("document.querySelectorAll('.card').length > 1")
                self.assertEqual(self.page.ask(script), [], (dark, place))


class Live(unittest.TestCase):
    def test_a_run_is_drawn_while_it_trains(self):
        with tempfile.TemporaryDirectory(prefix="mousse-live-") as folder:
            lab = harness.Lab(PROGRAM, folder)
            run = lab.folder / "run"
            process = subprocess.Popen([lab.program, *lab.command(run, "mousse", 100000), "--telemetry-every", "5"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                while not (run / "config.yaml").exists():
                    self.assertIsNone(process.poll())
                with server.Server(PROGRAM, run) as s, devtools.Page() as page:
                    page.go(s.address)
                    page.wait("location.hash === '#/run/.'")  # one run: its page is shown
                    points = "Number((document.querySelector('.chart.wide') || { dataset: {} }).dataset.points || 0)"
                    first = page.wait(f"({points} > 3) && {points}")
                    page.wait(f"{points} > {first} + 5")
                    page.wait("document.querySelector('.state.running') !== null")
                    page.wait("document.querySelector('.curvature').dataset.drawn === 'true'")
                    process.terminate()
                    process.wait(60)
                    page.wait("document.querySelector('.state.stopped') !== null")
                    self.assertEqual(page.errors(), [None, []])
            finally:
                process.kill()
                process.wait()


if __name__ == "__main__":
    unittest.main()
