"""The library's statuses as exceptions, each also the kind that Python programs expect; its warnings."""
import sys
import warnings

from ._library import ffi, lib


class Error(RuntimeError):
    """A call of libmousse that failed; the text is the library's sentence."""


class InvalidArgument(Error, ValueError):
    pass


class UnknownName(Error, ValueError):
    pass


class OutOfRange(Error, ValueError):
    pass


class WrongPhase(Error):
    pass


class NoMemory(Error, MemoryError):
    pass


class NotFinite(Error, ArithmeticError):
    """A gradient is infinite or NaN. Nothing was changed."""


class BadFormat(Error, ValueError):
    pass


class CommunicationFailed(Error, ConnectionError):
    pass


_kinds = {
    lib.MOUSSE_INVALID_ARGUMENT: InvalidArgument,
    lib.MOUSSE_UNKNOWN_NAME: UnknownName,
    lib.MOUSSE_OUT_OF_RANGE: OutOfRange,
    lib.MOUSSE_WRONG_PHASE: WrongPhase,
    lib.MOUSSE_NO_MEMORY: NoMemory,
    lib.MOUSSE_NOT_FINITE: NotFinite,
    lib.MOUSSE_BAD_FORMAT: BadFormat,
    lib.MOUSSE_COMM: CommunicationFailed,
}


def shown(pointer) -> str:
    """The library's text. A sentence may be cut within a character, and names in a file may be of any bytes."""
    return ffi.string(pointer).decode(errors="replace")


def check(status, handle=ffi.NULL):
    """Raises what a status other than OK means, in the words of the object it happened on."""
    if status == lib.MOUSSE_OK:
        return
    text = shown(lib.mousse_error(handle)) or shown(lib.mousse_status_text(status))
    raise _kinds.get(status, Error)(text)


def warn(text):
    """Warns at the line of the program that has called this package, perhaps through torch's wrappers of a step."""
    frame, level = sys._getframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("mousse", "torch"):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, RuntimeWarning, stacklevel=level)
