"""Packs the folder that `scripts/package` has staged as a wheel. Called by that script.

pip puts a wheel's `scripts` into the `bin` of an environment and its `data` into the environment itself, so
the installed environment has the layout of the tarball. Wheels hold no links: `gclang++` is a copy, and
`gpurace run` makes those of its own folder.
"""

import argparse
import base64
import hashlib
import os
import re
import time
import zipfile
from pathlib import Path

SUMMARY = "Finds data races in CUDA kernels, without a GPU"


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("stage", "version", "glibc", "requires", "output"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--level", type=int, required=True)
    return parser.parse_args()


def requirements(script):
    """The packages that `get-cuda` names. Any last part of their versions will do, so that an environment
    with other users of CUDA can keep its own."""
    pins = re.findall(r"^\s+(nvidia-[a-z-]+)==(\S+)\.\d+$", Path(script).read_text(), re.M)
    assert pins, f"no package is named in {script}"
    return [f"{name}=={version}.*" for name, version in pins]


class Wheel:
    """A zip file and the list of its files."""

    def __init__(self, path, level):
        self.zip = zipfile.ZipFile(path, "w")
        self.level = level
        moment = max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800)
        self.moment = time.gmtime(moment)[:6]
        self.record = []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, self.moment)
        info.external_attr = (0o100000 | mode) << 16
        self.zip.writestr(info, data, zipfile.ZIP_DEFLATED, self.level)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def add_file(self, name, path):
        executable = os.access(path, os.X_OK)
        self.add(name, path.read_bytes(), 0o755 if executable else 0o644)


def main():
    args = parse()
    tag = f"py3-none-manylinux_{args.glibc.replace('.', '_')}_x86_64"
    path = Path(args.output, f"gpurace-{args.version}-{tag}.whl")
    stage, data = Path(args.stage), f"gpurace-{args.version}.data"
    info = f"gpurace-{args.version}.dist-info"
    wheel = Wheel(path, args.level)
    python = "share/gpurace/python/"
    for file in sorted(file for file in stage.rglob("*") if file.is_file()):
        inside = file.relative_to(stage).as_posix()
        if inside.startswith("lib/gpurace/driver/"):
            continue
        if inside.startswith(python):
            wheel.add_file(inside[len(python):], file)
        elif inside.startswith("bin/"):
            wheel.add_file(f"{data}/scripts/{inside[4:]}", file)
        else:
            wheel.add_file(f"{data}/data/{inside}", file)
    needs = "".join(f"Requires-Dist: {need}\n" for need in requirements(args.requires))
    wheel.add(
        f"{info}/METADATA",
        f"Metadata-Version: 2.1\nName: gpurace\nVersion: {args.version}\nSummary: {SUMMARY}\n"
        f"License: Apache-2.0 WITH LLVM-exception\nRequires-Python: >=3.8\n{needs}".encode(),
    )
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: gpurace\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.add(f"{info}/entry_points.txt", b"[pytest11]\ngpurace = gpurace.pytest_plugin\n")
    wheel.add_file(f"{info}/LICENSE", stage / "share/doc/gpurace/LICENSE")
    wheel.record.append(f"{info}/RECORD,,")
    wheel.zip.writestr(zipfile.ZipInfo(f"{info}/RECORD", wheel.moment), "\n".join(wheel.record) + "\n")
    wheel.zip.close()
    print(path)


if __name__ == "__main__":
    main()
