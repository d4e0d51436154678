"""libmousse as Python sees it: found, declared by its own header, and of the right version.

`ffi` and `lib` are cffi's. The declarations are include/mousse/mousse.h as the C preprocessor
leaves it (_declarations.h, made when the package is built), so there is no second list to keep.
"""
import os
import pathlib

import cffi

from . import _build

_here = pathlib.Path(__file__).resolve().parent

ffi = cffi.FFI()
ffi.cdef((_here / "_declarations.h").read_text())


def _candidates():
    if "MOUSSE_LIBRARY" in os.environ:
        yield os.environ["MOUSSE_LIBRARY"]
        return
    yield str(_here / _build.library)
    yield pathlib.PurePath(_build.library).name  # wherever the system's loader looks


def _open():
    tried = []
    for path in _candidates():
        try:
            return ffi.dlopen(path)
        except OSError as reason:
            tried.append(f"  {path}: {reason}")
    raise ImportError("libmousse was not found; MOUSSE_LIBRARY may name it. Tried:\n" + "\n".join(tried))


lib = _open()

#: The version of the package and of the library, which are one.
version = ffi.string(lib.mousse_version()).decode()
if version != _build.version:
    raise ImportError(f"this package is version {_build.version}, but libmousse is {version}; "
                      "install both from the same source")
