"""Text from a model: prompts, the loop of 'mousse chat', long texts; and completion in three shells."""
import os
import pty
import select
import signal
import subprocess
import unittest

from program import MOUSSE, ProgramTest


class Writing(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("a.txt", b"".join(b"It was line %d of a book.\n" % i for i in range(3000)))
        self.output("tokenize", "a.txt", "--out", "data", "--quiet")
        self.output("train", "--preset", "nano", "--n-layer", "1", "--model-dim", "32", "--sequence-length", "64",
                    "--batch-size", "2", "--num-iterations", "2", "--data-dir", "data", "--out", "run", "--quiet")

    def generate(self, *words, **more):
        done = subprocess.run([MOUSSE, "generate", "--init", "run", "--quiet", *words], cwd=self.folder,
                              capture_output=True, timeout=600, **more)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout

    def test_prompts(self):
        told = self.generate("--prompt", "It was", "--tokens", "20")
        self.assertTrue(told.startswith(b"It was"))
        self.assertEqual(self.generate("--prompt", "-", "--tokens", "20", input=b"It was"), told)
        self.write("p.txt", b"It was")
        self.assertEqual(self.generate("--prompt-file", "p.txt", "--tokens", "20"), told)
        self.write("long.txt", b"word " * 2000)
        self.assertTrue(self.generate("--prompt-file", "long.txt", "--tokens", "3").startswith(b"word " * 2000))
        self.write("marked.txt", b"\xef\xbb\xbfIt was")
        self.assertEqual(self.generate("--prompt-file", "marked.txt", "--tokens", "20"), told)
        self.assertIn("not both", self.failure(2, "generate", "--init", "run", "--prompt", "a", "--prompt-file", "p.txt"))
        self.assertIn("cannot open", self.failure(1, "generate", "--init", "run", "--prompt-file", "none"))

    def test_weights_of_8_bits(self):
        """Text of the rounded model, the same each time; another model than the exact one."""
        words = ("--prompt", "It was", "--tokens", "200", "--no-stop", "--temperature", "1")
        rounded = self.generate(*words, "--weights", "q8_0")
        self.assertEqual(rounded, self.generate(*words, "--weights", "q8_0", "--threads", "1"))
        self.assertNotEqual(rounded, self.generate(*words))
        self.assertEqual(self.generate(*words, "--weights", "f32"), self.generate(*words))
        self.assertIn("q8_0", self.failure(2, "generate", "--init", "run", "--weights", "q4_0"))

    def test_options_are_checked_before_output(self):
        for words in (("--top-p", "0"), ("--top-p", "2"), ("--repetition-penalty", "0.5"), ("--temperature", "-1")):
            done = self.run_mousse("generate", "--init", "run", "--prompt", "It was", *words, status=2)
            self.assertEqual(done.stdout, b"", words)

    def test_long_texts_repeat_no_chance(self):
        """A model that has hardly learned draws almost by chance alone: equal chances would give equal texts."""
        text = self.generate("--tokens", "400", "--no-stop", "--temperature", "1")
        pieces = [text[i:i + 12] for i in range(len(text) - 12)]
        self.assertEqual(len(set(pieces)), len(pieces), "a stretch of text came twice")
        first = self.generate("--tokens", "30", "--no-stop", "--seed", "2")
        both = self.generate("--tokens", "30", "--no-stop", "--samples", "2")
        self.assertIn(first, both)

    def test_repetition_penalty(self):
        plain = self.generate("--tokens", "60", "--temperature", "0", "--no-stop")
        varied = self.generate("--tokens", "60", "--temperature", "0", "--no-stop", "--repetition-penalty", "50")
        self.assertGreater(len(set(varied)), len(set(plain)))

    def test_chat_reads_lines(self):
        done = subprocess.run([MOUSSE, "chat", "--init", "run", "--tokens", "5", "--no-stop"], cwd=self.folder,
                              input=b"It was\n\n/temperature nan\n/nothing\n/new\n/show\nAnd\n/quit\nnever\n",
                              capture_output=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertTrue(done.stdout.startswith(b"It was"))
        self.assertIn(b"\nAnd", done.stdout)
        self.assertIn(b"temperature: 0.8", done.stdout)
        self.assertNotIn(b"never", done.stdout)
        self.assertIn(b"there is no command '/nothing'", done.stderr)
        self.assertIn(b"expected a number", done.stderr)

    def test_chat_takes_no_part_of_a_line(self):
        done = subprocess.run([MOUSSE, "chat", "--init", "run", "--tokens", "5", "--no-stop"], cwd=self.folder,
                              input=b"a" * 16384 + b"\n" + b"b" * 16383 + b"\n", capture_output=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertIn(b"a line of more than 16383 bytes was not taken", done.stderr)
        self.assertNotIn(b"aaa", done.stdout)
        self.assertTrue(done.stdout.startswith(b"b" * 16383))

    def test_chat_with_lines_from_a_file_ends_by_a_signal(self):
        with open(self.path("lines"), "w") as file:
            file.write("It was\n" * 100000)
        with open(self.path("lines")) as lines:
            process = subprocess.Popen([MOUSSE, "chat", "--init", "run", "--no-stop"], cwd=self.folder, stdin=lines,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), -signal.SIGINT)

    def test_a_run_that_is_called_like_a_document(self):
        os.rename(self.path("run"), self.path("run.json"))
        self.assertIn(b"run.json", self.output("report", "run.json", "--text"))

    def test_nothing_is_written_for_nobody(self):
        """A million texts into a pipe that was closed end at once, not after an hour."""
        with open(self.path("said"), "wb") as said:
            process = subprocess.Popen([MOUSSE, "generate", "--init", "run", "--prompt", "It was " * 20, "--samples", "1000000"],
                                       cwd=self.folder, stdout=subprocess.PIPE, stderr=said)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdout.read(1)
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60), 1)
        self.assertIn(b"cannot write to standard output", self.read("said"))

    def test_chat_in_a_terminal(self):
        """Editing and history: 'Itt', a step back and a backspace; then the line before again."""
        process, ours = pty.fork()
        if process == 0:
            os.chdir(self.folder)
            os.environ["TERM"] = "xterm"
            os.execv(MOUSSE, [MOUSSE, "chat", "--init", "run", "--tokens", "3", "--no-stop"])
        drawn, seen = b"", 0

        def until(text):
            """Reads on until the text comes after what was seen before."""
            nonlocal drawn, seen
            while text not in drawn[seen:]:
                self.assertTrue(select.select([ours], [], [], 60)[0], f"no {text!r} in {drawn!r}")
                drawn += os.read(ours, 65536)
            seen = drawn.index(text, seen) + len(text)
        until(b"> ")
        os.write(ours, b"Ixt was\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x7f\x05!\r")
        until(b"\nIt was!")
        until(b"\r\x1b[K> ")
        os.write(ours, b"\x1b[A\x17yes\r")  # up, a word cut, another one
        until(b"\nIt yes")
        until(b"\r\x1b[K> ")
        os.write(ours, b"\x04")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), 0)
        os.close(ours)


class Completion(ProgramTest):
    """The same words in every shell."""
    CASES = ((["tra"], {"train"}), (["train", "--opti"], {"--optimizer"}), (["train", "--optimizer", "mou"], {"mousse"}),
             (["train", "--preset", "83"], {"834M"}), (["checkpoint", "ver"], {"verify"}),
             (["reproduce", "lr"], {"lr-sweep"}), (["sweep", "--optimizer", "muon,ada"], {"muon,adamw"}),
             (["sweep", "--num-it"], {"--num-iterations"}), (["help", "pres"], {"presets"}),
             (["train", "--no-res"], {"--no-resume"}), (["train", "--scheduler-type", "w"], {"wsd"}),
             (["train", "--optimizer", "soap", "--opt.max_p"], {"--opt.max_precond_dim"}),
             (["download", "finew"], {"fineweb10B"}))

    def shell(self, command):
        path = os.path.dirname(MOUSSE) + os.pathsep + os.environ["PATH"]
        done = subprocess.run(command, cwd=self.folder, env=dict(os.environ, PATH=path, HOME=self.folder),
                              capture_output=True, timeout=600, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check(self, found, wanted, where):
        self.assertTrue(wanted <= found, f"{where}: {sorted(found)}, expected {sorted(wanted)}")

    def test_bash(self):
        for words, wanted in self.CASES:
            script = ('source <(mousse completion bash); COMP_WORDS=(mousse "$@"); COMP_CWORD=$#; _mousse; '
                      'printf "%s\\n" "${COMPREPLY[@]}"')
            self.check(set(self.shell(["bash", "-c", script, "bash", *words]).split("\n")), wanted, words)

    def test_zsh(self):
        stubs = 'compdef() { : }; _files() { : }; _describe() { print -rl -- "${(@P)2}" }; '
        for words, wanted in self.CASES:
            script = stubs + 'source <(mousse completion zsh); words=(mousse "$@"); CURRENT=$#words; _mousse; true'
            lines = self.shell(["zsh", "-f", "-c", script, "zsh", *words]).split("\n")
            self.check({line.split(":")[0] for line in lines}, wanted, words)

    def test_fish(self):
        for words, wanted in self.CASES:
            script = "mousse completion fish | source; complete -C 'mousse " + " ".join(words) + "'"
            lines = self.shell(["fish", "--no-config", "-c", script]).split("\n")
            self.check({line.split("\t")[0] for line in lines}, wanted, words)

    def test_options_are_those_of_the_optimizer_that_would_be_used(self):
        for words, offered in (([], False), (["--optimizer", "mousse"], True), (["--optimizer", "muon"], False)):
            self.assertEqual(b"--opt.alpha" in self.output("completion", "words", "--", "train", *words, "--opt.al"), offered, words)
        self.assertIn(b"--scalar.mu\t", self.output("completion", "words", "--", "train", "--scalar."))  # of NorMuon, which auto is

    def test_what_is_not_known(self):
        self.assertIn("bash, zsh and fish", self.failure(2, "completion", "tcsh"))


unittest.main()
