"""The bill of materials (tools/sbom) of this build: whole, the same twice, and true where we know better.

usage: test_sbom.py SOURCE BUILD
"""
import json
import subprocess
import sys

source, build = sys.argv[1:]
made = [subprocess.run([f"{source}/tools/sbom", build], check=True, stdout=subprocess.PIPE).stdout for _ in range(2)]
assert made[0] == made[1], "two calls differ"
document = json.loads(made[0])
packages = {package["SPDXID"]: package for package in document["packages"]}
assert len(packages) == len(document["packages"]), "an identifier twice"
related = {}
for relation in document["relationships"]:
    a, kind, b = relation["spdxElementId"], relation["relationshipType"], relation["relatedSpdxElement"]
    assert a in packages or a == "SPDXRef-DOCUMENT", a
    assert b in packages, b
    related.setdefault((a, kind), set()).add(packages[b]["name"])
version = open(f"{source}/VERSION").read().strip()
for product in ("mousse", "libmousse", "libmousse_mpi"):
    assert packages[f"SPDXRef-{product.replace('_', '-')}"]["versionInfo"] == version, product
for package in document["packages"]:
    assert package["versionInfo"], package

program, library = related["SPDXRef-mousse", "DYNAMIC_LINK"], related["SPDXRef-libmousse", "DYNAMIC_LINK"]
assert any(name.startswith("libcurl") for name in program) and any(name.startswith("libjansson") for name in program), program
# The library alone needs BLAS, LAPACK, OpenMP and C, and nothing of what the program needs.
assert any(name.startswith("libc6") for name in library), library
assert not any(name.startswith(("libcurl", "libjansson", "libpcre2", "libopenmpi")) for name in library), library
assert related["SPDXRef-mousse", "CONTAINS"] == {"libjs-chart.js", "libxxhash-dev"}, related
