#!/usr/bin/env bash
# The package installed by pip without network, and used from another folder.
#     test_install.sh PYTHON
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# A copy: setuptools leaves its build folders beside setup.py.
mkdir "$folder/tree"
(cd "$source" && git ls-files -z --cached --others --exclude-standard | tar --null -T - -c --ignore-failed-read) | tar -x -C "$folder/tree"
"$1" -m pip install -q --no-build-isolation --no-deps --no-index --target "$folder/site" "$folder/tree/bindings/python"
cd "$folder"
PYTHONPATH=$folder/site "$1" -c '
import mousse, mousse.numpy, numpy, pathlib
assert pathlib.Path(mousse.__file__).parent.joinpath("libmousse.so").exists()
w = numpy.ones((4, 6), numpy.float32)
mousse.numpy.Optimizer({"w": w}, "mousse").step({"w": w.copy()})
assert w[0, 0] != 1
print(mousse.__version__, len(mousse.algorithms()), "algorithms")'
