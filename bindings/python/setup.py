"""env/bin/python -m pip install --no-build-isolation ./bindings/python

Builds libmousse with CMake from the source tree that this folder belongs to and puts it into the
package. Needs CMake, a C compiler, a BLAS with LAPACKE and cffi; no network.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

here = pathlib.Path(__file__).resolve().parent
source = here.parent.parent
version = (source / "VERSION").read_text().strip()


class BuildWithLibrary(build_py):
    """The package's own files, and what CMake makes: declarations, _build.py, libmousse.so."""

    def run(self):
        super().run()
        target = pathlib.Path(self.build_lib) / "mousse"
        target.mkdir(parents=True, exist_ok=True)
        for name in ("LICENSE", "THIRD-PARTY"):
            shutil.copy(source / name, target / name)
        with tempfile.TemporaryDirectory() as build:  # not beside this file: the source tree stays as it is
            self.make_library(pathlib.Path(build), target)

    def make_library(self, build, target):
        subprocess.check_call(["cmake", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DMOUSSE_TOOLS=OFF",
                               "-DMOUSSE_TESTS=OFF", "-DMOUSSE_MPI=OFF", "-DMOUSSE_PYTHON_PACKAGE=ON",
                               "-DMOUSSE_PYTHON_BUNDLED=ON"])
        subprocess.check_call(["cmake", "--build", build, "--target", "mousse_python", "-j", str(os.cpu_count())])
        for name in ("_declarations.h", "_build.py"):
            shutil.copy(build / "bindings" / "python" / "mousse" / name, target / name)
        shutil.copy(build / "src" / "libmousse.so", target / "libmousse.so")


class HasLibrary(Distribution):
    def has_ext_modules(self):
        return True  # the wheel is for this platform


setup(version=version, packages=["mousse"], package_data={"mousse": ["py.typed"]},
      cmdclass={"build_py": BuildWithLibrary}, distclass=HasLibrary)
