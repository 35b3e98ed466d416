"""Chunks on a terminal: the script while it is written, the report, where the picture lies."""

import re
from pathlib import Path
from typing import Any

import jiter
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from clients.cli.api import Api, Chunk

OUTPUT_LINES = 20
MARK = {"committed": "green", "rolled_back": "cyan", "previewed": "yellow"}


class Printer:
    def __init__(self, console: Console, api: Api, pictures: Path) -> None:
        self.console = console
        self.api = api
        self.pictures = pictures
        self.streaming: str | None = None
        self.input = b""
        self.lines_shown = 0

    def show(self, chunk: Chunk) -> None:
        chunk = printable(chunk)
        kind = chunk["type"]
        if kind != self.streaming:
            self._end_of_stream()
        match kind:
            case "Thinking":
                self._stream(kind, chunk["content"], "dim italic")
            case "Message":
                self._stream(kind, chunk["content"], "")
            case "ToolInputDelta":
                self._script(chunk)
            case "Metadata":
                self._metadata(chunk)
            case "Complete":
                self._complete(chunk["metadata"])
            case "Error":
                self.console.print(Text(chunk["content"], style="bold red"))

    def _stream(self, kind: str, text: str, style: str) -> None:
        self.streaming = kind
        self.console.print(Text(text, style=style), end="")

    def _end_of_stream(self) -> None:
        if self.streaming in ("Thinking", "Message"):
            self.console.print()
        elif self.streaming == "ToolInputDelta":
            self._script_lines(final=True)
            self.input, self.lines_shown = b"", 0
        self.streaming = None

    def _script(self, chunk: Chunk) -> None:
        if self.streaming is None:
            self.console.print(Text(f"\n{chunk['metadata']['tool']}", style="bold blue"))
        self.streaming = "ToolInputDelta"
        self.input += chunk["content"].encode()
        self._script_lines(final=False)

    def _script_lines(self, *, final: bool) -> None:
        """Print the lines of the script that are complete by now; the rest when the input has ended."""
        lines = _script_of(self.input).split("\n")
        ready = len(lines) if final else len(lines) - 1
        for number in range(self.lines_shown, ready):
            if number < len(lines) - 1 or lines[number]:
                line = Syntax(lines[number], "python", background_color="default", word_wrap=False)
                numbered = Text(f"{number + 1:>4} ", style="dim") + line.highlight(lines[number])
                self.console.print(numbered, end="")
        self.lines_shown = ready

    def _metadata(self, chunk: Chunk) -> None:
        facts = chunk["metadata"]
        match facts["kind"]:
            case "run_started":
                self.console.print(Text(f"run {facts['run_id']}", style="dim"))
            case "model" if facts["turn"] == 1 and facts["rehearsal"]:
                self.console.print(Text(f"{facts['label']}: a script is being played.", style="bold yellow"))
            case "tool_result":
                self._tool_result(facts)
            case "waiting":
                self.console.print(Text(chunk["content"], style="yellow"))

    def _tool_result(self, facts: dict[str, Any]) -> None:
        self.console.print(Text(facts["summary"], style=MARK.get(facts["outcome"], "bold red")))
        if facts["error"]:
            where = f" (line {facts['error']['line']})" if facts["error"]["line"] else ""
            self.console.print(Text(f"{facts['error']['type']}: {facts['error']['message']}{where}", style="red"))
        head = facts["output_head"].splitlines()[:OUTPUT_LINES]
        for line in head:
            self.console.print(Text(f"  {line}", style="dim"))
        if facts["lines"] > len(head):
            self.console.print(Text(f"  … {facts['lines']:,} lines in all: {facts['output_url']}", style="dim"))
        if facts["report"] and any(facts["changed"].values()):
            self.console.print(report_table(facts["report"]))
        for image in facts["images"]:
            self.console.print(f"picture {self._save(image)}", highlight=False, soft_wrap=True)
        for note in facts["notes"]:
            self.console.print(Text(f"note: {note}", style="yellow"))

    def _save(self, image: dict[str, Any]) -> Path:
        self.pictures.mkdir(parents=True, exist_ok=True)
        path = self.pictures / f"{image['sha256'][:16]}.png"
        path.write_bytes(self.api.download(image["url"]))
        return path

    def _complete(self, facts: dict[str, Any]) -> None:
        tokens = sum(value for name, value in facts["usage"].items() if name != "cost_usd")
        changed = facts["changed"]
        text = f"{changed['modified']} modified, {changed['added']} added, {changed['deleted']} deleted"
        scripts = f"{facts['counters']['scripts']} scripts"
        used = f"{scripts} · {facts['seconds']:.0f} s · {tokens:,} tokens"
        self.console.print(Text(f"Done: {text} · {used}", style="bold green"))


CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(value: Any) -> Any:
    """The value with control characters shown as U+FFFD: names and outputs must not drive the terminal."""
    if isinstance(value, str):
        return CONTROL.sub("\ufffd", value)
    if isinstance(value, dict):
        return {name: printable(item) for name, item in value.items()}
    return [printable(item) for item in value] if isinstance(value, list) else value


def _script_of(partial: bytes) -> str:
    """The script inside a tool input that is still being written."""
    if not partial.strip():
        return ""
    value = jiter.from_json(partial, partial_mode="trailing-strings")
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("code"), str):
        return value["code"]
    return "\n".join(_edit_shown(edit) for edit in value.get("edits") or [] if "replacement" in edit)


def _edit_shown(edit: dict[str, Any]) -> str:
    """The fields come in the order in which the model writes them."""
    where = (
        f"# lines {edit['start_line']} to {edit['end_line']}:\n" if {"start_line", "end_line"} <= edit.keys() else ""
    )
    return where + edit["replacement"]


def report_table(report: dict[str, Any]) -> Table:
    """The change report: a row an element, or a row a group when there are many."""
    table = Table(title="What changed", title_justify="left")
    if len(report["elements"]) < sum(report["counts"].values()):
        for column in ("change", "category", "count", "for example"):
            table.add_column(column)
        for group in report["groups"]:
            table.add_row(group["change"], group["category"], str(group["count"]), str(group["example"]["name"]))
        return table
    for column in ("change", "category", "name", "tag", "level", "what"):
        table.add_column(column)
    for row in report["elements"]:
        what = "; ".join(f"{each['property']}: {each['before']} → {each['after']}" for each in row["changes"])
        cells = [row["change"], row["category"], row["name"], row["tag"], row["level"], what]
        table.add_row(*[Text(str(cell)) if cell is not None else Text("") for cell in cells])
    return table
