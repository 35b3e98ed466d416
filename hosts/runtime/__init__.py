"""The part of a host that every desktop application shares.

Read in this order: `link` (asks the server for commands and brings it the results), `journal` (what was
begun and how it ended, on disk), `results` (the shape of an answer), `outbox` (uploads and posts it),
`execute` and `capture` (run a script and keep what it prints), `transport` (HTTP), `durable` (files).

Standard library only, and written for Python 2.7 as well as 3: it also runs inside applications whose
Python is IronPython 2.7. It knows scripts, documents and commands; it knows nothing of models or tools.
"""
