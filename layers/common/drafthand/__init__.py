"""Drafthand's core: an agentic loop in the cloud with a hand inside a desktop model.

Reading order, which is also the order of one run:

    runs.py         a posted message becomes a run: a task, its log, its end
    loop.py         the loop: stream a turn, execute its calls, append both, repeat
    vendors/        a model maker's dialect: build_request, normalize, the client
    tools.py        the three tools, declared once
    executor.py     one tool call: check, merge, store, dispatch, wait, report
    rendezvous.py   one call suspended until another machine answers
    results.py      the two audiences of a result
    runlog.py       numbered chunks, stored and followed
    store/          one table, one bucket; the only place that knows boto3

    words           chunks, transcript, session, commands, errors
"""
