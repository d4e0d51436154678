"""Pages as headless Chromium sees them, and its pictures of them, compared without other packages."""
import pathlib
import shutil
import struct
import subprocess
import tempfile
import zlib

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--force-device-scale-factor=1", "--virtual-time-budget=20000"]


def run(page, *flags):
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    assert browser, "Chromium is missing (package chromium)"
    with tempfile.TemporaryDirectory(prefix="mousse-browser-") as profile:
        done = subprocess.run([browser, *FLAGS, f"--user-data-dir={profile}", *flags, pathlib.Path(page).as_uri()],
                              capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


def dom(page, width=1100):
    return run(page, f"--window-size={width},900", "--dump-dom")


def picture(page, width, height, dark=False):
    """(width, height, rows of RGB bytes) of the page's upper left part."""
    with tempfile.TemporaryDirectory(prefix="mousse-shot-") as folder:
        path = pathlib.Path(folder) / "shot.png"
        run(page, f"--window-size={width},{height}", f"--screenshot={path}", *["--force-dark-mode"] * dark)
        return read_png(path.read_bytes())


def read_png(data):
    """8 bits per channel, not interlaced: what Chromium writes."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and color in (2, 6) and not interlaced
        if kind == b"IDAT":
            packed += body
        at += 12 + size
    return width, height, unfilter(zlib.decompress(packed), width, height, 3 if color == 2 else 4)


def unfilter(raw, width, height, channels):
    size, rows, above = width * channels, [], bytes(width * channels)
    for y in range(height):
        start = y * (size + 1)
        kind, row = raw[start], bytearray(raw[start + 1:start + 1 + size])
        if kind == 2:
            row = bytearray((a + b) & 255 for a, b in zip(row, above))
        elif kind != 0:
            unfilter_row(row, above, kind, channels)
        above = bytes(row)
        rows.append(above if channels == 3 else bytes(b for i, b in enumerate(above) if i % 4 != 3))
    return rows


def unfilter_row(row, above, kind, n):
    for i in range(len(row)):
        left, up, corner = (row[i - n], above[i], above[i - n]) if i >= n else (0, above[i], 0)
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up) // 2
        else:
            p = left + up - corner
            guess = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
        row[i] = (row[i] + guess) & 255


def write_png(path, width, height, rows):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    packed = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    pathlib.Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                                   + chunk(b"IDAT", packed) + chunk(b"IEND", b""))


def smaller(shot, block):
    """Means over squares of pixels: the same page for other versions of fonts and of the browser."""
    width, height, rows = shot
    across, down = width // block, height // block
    result = []
    for y in range(down):
        sums = [0] * (3 * across)
        for row in rows[y * block:(y + 1) * block]:
            for channel in range(3):
                values = row[channel::3]
                for x in range(across):
                    sums[3 * x + channel] += sum(values[x * block:(x + 1) * block])
        result.append(bytes(s // (block * block) for s in sums))
    return across, down, result


def difference(a, b, most=24):
    """The part of the pixels in which two pictures of one size differ by more than `most` of 255."""
    assert a[:2] == b[:2], f"{a[:2]} is another size than {b[:2]}"
    count = 0
    for one, other in zip(a[2], b[2]):
        for x in range(0, len(one), 3):
            count += any(abs(one[x + c] - other[x + c]) > most for c in range(3))
    return count / (a[0] * a[1])
