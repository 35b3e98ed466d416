"""The runtime must also run where the only Python is 2.7 (IronPython inside Revit)."""

import ast
import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.paths import ROOT

RUNTIME = sorted((ROOT / "hosts" / "runtime").glob("*.py"))
TRY_OUT = """
# -*- coding: utf-8 -*-
import io, json, sys, tempfile
from hosts.runtime import execute, link, results
from hosts.runtime.capture import Capture
from hosts.runtime.journal import Journal

folder = tempfile.mkdtemp()
journal = Journal(folder)
journal.begin({"id": "a1", "run": "r", "script": u"x"}, {"id": "d", "title": u"Gr\\u00f6\\u00dfe", "version": "1"})
path = journal.output_path("a1")
with open(path, "ab", 0) as sink, Capture(sink, 1000) as capture:
    source = u"# -*- coding: utf-8 -*-\\nprint(u'\\u00e9')\\nprint('plain')\\n\\n1 / 0\\n"
    error = execute.run(source, {"__name__": "__main__"})
result = results.new({"id": "a1"}, journal.started("a1")["open"])
result["stdout"] = io.open(path, encoding="utf-8").read() * 20000
journal.finish("a1", results.pack(results.end(result, "failed"), journal))
again = Journal(folder)
found = again.result("a1")
print(json.dumps([error, again.stored("a1", found["stdout"]["sha256"])[:9].decode("utf-8"), again.undelivered()]))
"""


@pytest.fixture(scope="module")
def python27() -> str:
    found = shutil.which("python2.7")
    if found is None or subprocess.run([found, "-c", ""], capture_output=True).returncode != 0:
        pytest.skip("there is no python2.7 on the PATH")
    return found


@pytest.mark.parametrize("path", RUNTIME, ids=lambda path: path.name)
def test_every_file_of_the_runtime_compiles_on_2_7(python27, path):
    done = subprocess.run(
        [python27, "-c", f"compile(open({str(path)!r}).read(), 'x', 'exec')"], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr


def test_scripts_journal_and_results_work_on_2_7(python27, tmp_path):
    (tmp_path / "try_out.py").write_text(TRY_OUT.lstrip(), encoding="utf-8")
    done = subprocess.run(
        [python27, "-B", str(tmp_path / "try_out.py")],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )

    assert done.returncode == 0, done.stderr
    error, head, undelivered = json.loads(done.stdout)
    assert (error["type"], error["line"]) == ("ZeroDivisionError", 5)
    assert head == "é\nplain\n"
    assert undelivered == ["a1"]


@pytest.mark.parametrize("path", RUNTIME, ids=lambda path: path.name)
def test_the_runtime_imports_nothing_but_the_standard_library_and_itself(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add("hosts.runtime" if node.module.startswith("hosts.runtime") else node.module.split(".")[0])

    allowed = sys.stdlib_module_names | {"hosts.runtime", "httplib", "urllib2", "urlparse", "__future__"}
    assert imported <= allowed
