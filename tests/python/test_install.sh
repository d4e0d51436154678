#!/usr/bin/env bash
# The package installed as docs/python.md says, twice and without network, and used from another folder.
#     test_install.sh PYTHON
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/my tree"
(cd "$source" && git ls-files -z --cached --others --exclude-standard | tar --null -T - -c --ignore-failed-read) | tar -x -C "$folder/my tree"
cd "$folder/my tree"
git init -q .
git add -A
"$1" -m venv --system-site-packages "$folder/env"
for time in first second; do
  "$folder/env/bin/python" -m pip install -q --no-index --no-build-isolation ./bindings/python
done
[ -z "$(git status --porcelain --untracked-files | grep -v '^A')" ] || { git status --short | grep -v '^A'; echo "the source tree has changed"; exit 1; }
cd "$folder"
env/bin/python -c '
import importlib.metadata, mousse, mousse.numpy, numpy, pathlib
package = pathlib.Path(mousse.__file__).parent
for name in ("libmousse.so", "LICENSE", "THIRD-PARTY"):
    assert package.joinpath(name).exists(), name
assert sorted(importlib.metadata.requires("mousse")) == ["cffi", "numpy"]
w = numpy.ones((4, 6), numpy.float32)
mousse.numpy.Optimizer({"w": w}, "mousse").step({"w": w.copy()})
assert w[0, 0] != 1
print(mousse.__version__, len(mousse.algorithms()), "algorithms")'
