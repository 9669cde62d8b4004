"""Packages of npm and PyPI that carry the program: `python3 packaging/wrap.py OUT TARGET=PROGRAM…`.

Writes a wheel for each target, and for npm a launcher and a package for each target. Nothing is downloaded when they are installed. The
same programs give the same bytes.
"""

import base64
import gzip
import hashlib
import io
import json
import pathlib
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# By target: the names of the machine for npm and for wheels.
MACHINES = {"x86_64-unknown-linux-musl": ("x64", "x86_64"), "aarch64-unknown-linux-musl": ("arm64", "aarch64")}
SUMMARY = "Runs a team's plan, apply and verify workflows, and owns every change they make"
LICENCE = "MIT OR Apache-2.0"

LAUNCHER = """#!/usr/bin/env node
// Starts the program of this machine, and ends as it does.
const { spawn } = require('node:child_process')
const { constants } = require('node:os')

const name = `@nrv/${process.platform}-${process.arch}`
let program
try {
  program = require.resolve(`${name}/nrv`)
} catch {
  console.error(`nrv: the package ${name} is not installed: nrv runs on Linux, on x64 and arm64; install without --omit=optional`)
  process.exit(1)
}
// The program decides on the end; a terminal sends these to both. One that comes while the program starts is held until it can be told.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' })
child.on('error', (error) => {
  console.error(`nrv: ${error.message}`)
  process.exit(1)
})
child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code))
"""


def version():
    for line in (ROOT / "Cargo.toml").read_text(encoding="utf-8").splitlines():
        if line.startswith("version = "):
            return line.split('"')[1]
    raise SystemExit("Cargo.toml has no version")


def npm_package(out, description, files):
    """Writes a tarball as `npm pack` would."""
    manifest = json.dumps(description, indent=2) + "\n"
    readme = (ROOT / "README.md").read_bytes()
    files = [("package.json", manifest.encode(), 0o644), ("README.md", readme, 0o644), *files]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data, mode in files:
            entry = tarfile.TarInfo("package/" + name)
            entry.size, entry.mode = len(data), mode
            archive.addfile(entry, io.BytesIO(data))
    name = description["name"].lstrip("@").replace("/", "-")
    path = out / ("%s-%s.tgz" % (name, description["version"]))
    path.write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))
    print(path)


def npm(out, programs):
    common = {"version": version(), "description": SUMMARY, "license": LICENCE}
    optional = {}
    for target, program in programs.items():
        machine = MACHINES[target][0]
        name = "@nrv/linux-" + machine
        optional[name] = version()
        package = {"name": name, **common, "os": ["linux"], "cpu": [machine], "files": ["nrv"]}
        npm_package(out, package, [("nrv", program, 0o755)])
    package = {"name": "nrv", **common, "bin": {"nrv": "nrv.js"}, "engines": {"node": ">=18"}, "optionalDependencies": optional}
    npm_package(out, package, [("nrv.js", LAUNCHER.encode(), 0o755)])


def wheel(out, target, program):
    tags = ["py3-none-%s_%s" % (system, MACHINES[target][1]) for system in ("manylinux2014", "musllinux_1_1")]
    name = "nrv-%s" % version()
    path = out / ("%s-py3-none-%s.whl" % (name, ".".join(tag.removeprefix("py3-none-") for tag in tags)))
    metadata = "Metadata-Version: 2.1\nName: nrv\nVersion: %s\nSummary: %s\nLicense: %s\nDescription-Content-Type: text/markdown\n\n" % (
        version(), SUMMARY, LICENCE,
    )
    about = "Wheel-Version: 1.0\nGenerator: nrv\nRoot-Is-Purelib: false\n" + "".join("Tag: %s\n" % tag for tag in tags)
    files = [
        (name + ".data/scripts/nrv", program, 0o755),
        (name + ".dist-info/METADATA", metadata.encode() + (ROOT / "README.md").read_bytes(), 0o644),
        (name + ".dist-info/WHEEL", about.encode(), 0o644),
    ]
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data, mode in files:
            entry = zipfile.ZipInfo(file, (1980, 1, 1, 0, 0, 0))
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append("%s,sha256=%s,%d\n" % (file, digest, len(data)))
        entry = zipfile.ZipInfo(name + ".dist-info/RECORD", (1980, 1, 1, 0, 0, 0))
        entry.external_attr = 0o100644 << 16
        archive.writestr(entry, "".join(record) + name + ".dist-info/RECORD,,\n")
    print(path)


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    programs = {}
    for pair in sys.argv[2:]:
        target, path = pair.split("=", 1)
        if target not in MACHINES:
            raise SystemExit("there is no package for %s; known are %s" % (target, ", ".join(MACHINES)))
        programs[target] = pathlib.Path(path).read_bytes()
    if not programs:
        raise SystemExit("name a program, such as x86_64-unknown-linux-musl=target/x86_64-unknown-linux-musl/dist/nrv")
    npm(out, programs)
    for target, program in programs.items():
        wheel(out, target, program)


main()
