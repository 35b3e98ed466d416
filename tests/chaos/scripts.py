"""What is asked for in the histories, and how the rehearsal works on it."""

MEND = """
name: mend
title: Mend it
match: mend it
turns:
  - name: try
    think: I try.
    say: I try.
    call: {tool: execute_task_automation, input: {summary: Try., code: fail}}
    next: [{when: 'outcome: failed', go: again}, {when: 'outcome', go: end}]
  - name: again
    say: I mend.
    call:
      tool: execute_task_automation
      input: {summary: Mend., edits: [{start_line: 1, end_line: 1, replacement: commit}]}
    next: [{when: 'outcome', go: end}]
  - name: end
    say: Mended.
"""
LOOK = """
name: look
title: Look and do it
match: look and do it
turns:
  - name: look
    think: First I look.
    call: {tool: execute_data_collection, input: {code: look, purpose: Look.}}
    next: [{when: 'outcome', go: do}]
  - name: do
    say: Now I do it.
    call: {tool: execute_task_automation, input: {summary: Do., code: commit}}
    next: [{when: 'outcome', go: check}]
  - name: check
    say: I look again.
    call: {tool: execute_data_collection, input: {code: look, purpose: Look.}}
    next: [{when: 'outcome', go: end}]
  - name: end
    say: Done, and looked at.
"""
TWICE = """
name: twice
title: Do it twice
match: do it twice
turns:
  - name: first
    say: Once.
    call: {tool: execute_task_automation, input: {summary: Once., code: commit}}
    next: [{when: 'outcome', go: second}]
  - name: second
    say: Twice.
    call: {tool: execute_task_automation, input: {summary: Twice., code: commit}}
    next: [{when: 'outcome', go: end}]
  - name: end
    say: Done twice.
"""
TELL = """
name: tell
title: Tell me
match: tell me
turns:
  - name: only
    say: I have told you what I know.
"""
JOBS = [MEND, LOOK, TWICE, TELL]
MESSAGES = ["Mend it", "Look and do it", "Do it twice"]
LAST_MESSAGE = "Tell me"
