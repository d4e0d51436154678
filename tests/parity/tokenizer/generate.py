"""Writes about 10 MB of mixed text for the tokenizer parity test, the same for the same Debian.

usage: generate.py OUT

Prose and code come from the system's licences and headers, not from this project's own files: a test must not pass at
one commit and fail at the next because a comment moved. The rest is made here: every assigned
code point, random strings of many scripts, emoji sequences, white space, digits, contractions,
long runs, and bytes that are not UTF-8. OUT/valid.txt has it all but the last, OUT/invalid.bin has
that; OUT/plain.txt is 300 KB of prose and code, for an implementation that takes quadratic time.
OUT/marks.txt is text that normal form C changes: everything decomposed, and letters with marks in any order.
"""
import os
import random
import sys
import unicodedata

WANTED = 10_000_000
SOURCES = ["/usr/share/common-licenses", "/usr/include/linux"]
# What Hugging Face's library finds in a text; to us they are tokens only where a program says so, not in text.
SPECIAL = ["<|endoftext|>", "<unk>", "<s>", "</s>"]
# What JavaScript's \s and Unicode's White_Space disagree on; the original follows Unicode.
DISPUTED = {0x85, 0xFEFF}


def source_texts(paths):
    for path in paths:
        for folder, folders, files in os.walk(path) if os.path.isdir(path) else [("", [], [path])]:
            folders.sort()
            for name in sorted(files):
                try:
                    with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
                        yield file.read()
                except (UnicodeDecodeError, OSError):
                    pass


def assigned():
    skip = {"Cn", "Cs", "Co"}
    return [c for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) not in skip]


def made_text(draw, points):
    """One paragraph of something that real text seldom has."""
    kind = draw.randrange(8)
    if kind == 0:
        return "".join(chr(draw.choice(points)) for _ in range(draw.randrange(1, 200)))
    if kind == 1:  # words of one script: neighbouring code points
        start = draw.randrange(len(points))
        near = points[start : start + 60]
        return " ".join(
            "".join(chr(draw.choice(near)) for _ in range(draw.randrange(1, 9))) for _ in range(30)
        )
    if kind == 2:
        people = ["\U0001F468", "\U0001F469", "\U0001F467", "\U0001F3FD", "\u200d", "\ufe0f", "\u2764", "\U0001F1EB"]
        return "".join(draw.choice(people) for _ in range(60))
    if kind == 3:
        spaces = [" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2003", "\u200b", "x", "\u00e9"]
        return "".join(draw.choice(spaces) for _ in range(80))
    if kind == 4:
        return " ".join(str(draw.randrange(10 ** draw.randrange(1, 20))) for _ in range(20))
    if kind == 5:
        return " ".join(draw.choice(["I'm", "can't", "it'S", "we'll", "'tis", "''ve", "you'd've", "o'"]) for _ in range(30))
    if kind == 6:
        return draw.choice("aA .\n!0\u00e9") * draw.randrange(1, 3000)
    return "".join(chr(draw.randrange(128)) for _ in range(100))


def marked_text(draw, points):
    """Characters taken apart, then letters with marks, some of which join, in any order."""
    apart = [unicodedata.normalize("NFD", chr(c)) for c in points]
    marks = [chr(c) for c in points if unicodedata.combining(chr(c))]
    common = [chr(c) for c in range(0x300, 0x346)]
    letters = [chr(c) for c in (*range(0x41, 0x7B), *range(0x1100, 0x1113), *range(0x1161, 0x1176), *range(0x11A8, 0x11C3))]
    letters += [text for text in apart if len(text) > 1]
    words = [text + draw.choice(["", " ", "x", chr(draw.choice(points))]) for text in apart]
    for i in range(20000):
        if i % 100 == 0:
            words.append("x ")  # long texts are cut at spaces; without any they have other tokens
        behind = draw.choice([marks, common, letters])
        words.append(draw.choice(letters) + "".join(draw.choice(behind) for _ in range(draw.randrange(6))))
    words.append("a" + "".join(draw.choice(marks) for _ in range(5000)))
    return "".join(words)


def main():
    out = sys.argv[1]
    draw = random.Random(20240520)
    points = [c for c in assigned() if c not in DISPUTED]
    parts = ["".join(chr(c) for c in points), " ".join(chr(c) for c in points)]
    size = sum(len(part.encode()) for part in parts)
    texts = [text for text in source_texts(SOURCES) if text]
    while size < WANTED:
        if draw.random() < 0.5:
            text = draw.choice(texts)
            start = draw.randrange(len(text))
            part = text[start : start + draw.randrange(20000)]
        else:
            part = made_text(draw, points)
        part = part.translate(dict.fromkeys(DISPUTED))
        parts.append(part)
        size += len(part.encode())
    with open(os.path.join(out, "valid.txt"), "wb") as file:
        file.write("".join(parts).encode())
    with open(os.path.join(out, "plain.txt"), "wb") as file:
        plain = "".join(draw.choice(texts)[:3000] for _ in range(100))
        for token in SPECIAL:
            plain = plain.replace(token, "")
        file.write(plain.translate(dict.fromkeys(DISPUTED)).encode())
    with open(os.path.join(out, "disputed.txt"), "wb") as file:
        # not a mark first: at the beginning of a file it is dropped
        file.write(("a" + "".join(draw.choice("\u0085\ufeff a\n.") for _ in range(5000))).encode())
    with open(os.path.join(out, "marks.txt"), "wb") as file:
        file.write(marked_text(draw, points).encode())
    with open(os.path.join(out, "invalid.bin"), "wb") as file:
        for _ in range(1000):
            file.write(bytes(draw.randrange(256) for _ in range(draw.randrange(12))))
            file.write(made_text(draw, points).encode()[draw.randrange(3) : 200])


main()
