"""The shape of the house, held by tests."""

import re
import subprocess

from tests.paths import ROOT

LINES_MAX = 350


def tracked(*patterns: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.split()


def test_no_file_outgrows_its_subject() -> None:
    files = tracked("*.py", "*.ts", "*.tsx")

    long = {name: count for name in files if (count := (ROOT / name).read_text().count("\n")) > LINES_MAX}

    assert len(files) > 50
    assert long == {}


def test_no_lock_file_names_a_registry() -> None:
    for name in tracked("requirements/*.txt", "layers/common/requirements.txt", "*package-lock.json"):
        text = (ROOT / name).read_text()
        assert not re.search(r'index-url|find-links|"resolved"', text), name


def test_the_documents_that_readers_are_sent_to_exist() -> None:
    for name in tracked("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / name).read_text()):
            assert ((ROOT / name).parent / target).exists(), f"{name} points to {target}"
