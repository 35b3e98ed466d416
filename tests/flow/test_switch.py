"""One session, one model after another: each takes over what the others left, pictures and stopped calls included."""

import threading
from pathlib import Path

import pytest
from drafthand.vendors.models import models

from tests.flow.served import kinds, serve

LOOK = """
name: look
title: Take a picture of the plan
match: picture
turns:
  - name: picture
    think: I take a picture first.
    say: I take a picture of Level 2.
    call:
      tool: capture_view
      input: {view: {kind: plan, storey: Level 2}}
    next: [{when: 'outcome: rolled_back', go: end}]
  - name: end
    say: That is Level 2.
"""
WAIT = """
name: wait
title: Wait for a long time
match: wait
turns:
  - name: wait
    say: I wait.
    call:
      tool: execute_data_collection
      input: {purpose: Wait, code: 'import time; time.sleep(60)'}
  - name: end
    say: It came back.
"""
FALLBACK = "{name: fallback, title: Nothing else, turns: [{name: only, say: 'I know no more.'}]}"


def test_one_session_is_switched_through_all_vendors_and_back(model: Path, tmp_path: Path) -> None:
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    for name, text in {"look": LOOK, "wait": WAIT, "fallback": FALLBACK}.items():
        (scripts / f"{name}.yaml").write_text(text)
    rehearsed = [each.id for each in models().values() if each.rehearsal]

    with serve(tmp_path / "state", model, rehearsals=scripts) as served:
        first = served.run("Take a picture", model=rehearsed[0])
        session_id = first[0]["metadata"]["session_id"]
        ends = [first[-1]]
        for other in [*rehearsed[1:], rehearsed[0]]:
            stopped = served.api.run("Wait for a long time", model=other, session_id=session_id)
            for chunk in stopped:
                if chunk["metadata"].get("kind") == "host" and chunk["metadata"]["state"] == "working":
                    threading.Thread(target=served.api.cancel, args=[served.api.run_id]).start()
            assert chunk["metadata"]["code"] == "cancelled"
            ends.append((chunks := served.run("Take a picture", model=other, session_id=session_id))[-1])
            assert len(kinds(chunks, "tool_result")[0]["images"]) == 1

    assert [end["type"] for end in ends] == ["Complete"] * (len(rehearsed) + 1), [end["content"] for end in ends]
    assert [end["content"] for end in ends] == ["That is Level 2."] * len(ends)


@pytest.mark.parametrize("name", [each.id for each in models().values() if each.rehearsal])
def test_the_page_is_told_which_dialect_is_spoken_and_that_it_is_rehearsed(name: str) -> None:
    spec = models()[name]

    assert "no language model" in spec.label
    assert spec.wire_name == "rehearsal"
