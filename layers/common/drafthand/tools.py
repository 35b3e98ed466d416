"""The three tools, declared once; each dialect renders them its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

COLLECT = "execute_data_collection"
AUTOMATE = "execute_task_automation"
CAPTURE = "capture_view"


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid")


class View(_Input):
    """Which picture to take."""

    kind: Literal["3d", "plan"] = Field(description="'plan' cuts one storey horizontally, '3d' shows the whole model.")
    storey: str | None = Field(None, description="Name of the storey; needed for a plan.")

    @model_validator(mode="after")
    def _plan_needs_a_storey(self) -> View:
        if self.kind == "plan" and not self.storey:
            raise ValueError("a plan needs the name of a storey")
        return self


class DataCollection(_Input):
    """Run a script that only reads: whatever it changes is rolled back, so looking is free. Print what you want."""

    code: str = Field(min_length=1, description="Python source. print() is what you will see.")
    purpose: str = Field(description="One sentence for the user: what is being looked up.")


class ScriptEdit(_Input):
    """Replace the lines start_line..end_line (1-based, inclusive) of the held script."""

    start_line: int = Field(ge=1, description="First line replaced.")
    end_line: int = Field(ge=0, description="Last line replaced; start_line - 1 inserts before start_line.")
    replacement: str = Field(description="The new lines; empty deletes.")

    @model_validator(mode="after")
    def _range_is_ordered(self) -> ScriptEdit:
        if self.end_line < self.start_line - 1:
            raise ValueError(f"end_line {self.end_line} lies before start_line {self.start_line}")
        return self


class TaskAutomation(_Input):
    """Run a script that changes the document, in one transaction: it commits whole or is rolled back whole.

    Afterwards you get an exact report of what changed and, when a view is named or geometry changed, a picture.
    To mend the script that was run last, send `edits` against its line numbers instead of the whole `code`.
    """

    code: str | None = Field(None, description="The whole script. Leave out when sending edits.")
    edits: list[ScriptEdit] | None = Field(None, description="Line edits against the held script.")
    summary: str = Field(description="One sentence for the user: what this run will change.")
    view: View | None = Field(None, description="The picture to take afterwards.")

    @model_validator(mode="after")
    def _code_or_edits(self) -> TaskAutomation:
        if (self.code is None) == (self.edits is None):
            raise ValueError("send either code or edits, not both and not neither")
        if self.code is not None and not self.code.strip():
            raise ValueError("code is empty")
        if self.edits is not None and not self.edits:
            raise ValueError("edits is empty")
        return self


class CaptureView(_Input):
    """Take a picture without running anything."""

    view: View
    highlight: list[int] = Field(default_factory=list, description="Ids of elements to highlight.")


ToolInput = DataCollection | TaskAutomation | CaptureView

INPUTS: dict[str, type[ToolInput]] = {COLLECT: DataCollection, AUTOMATE: TaskAutomation, CAPTURE: CaptureView}


@dataclass(frozen=True)
class ToolSpec:
    """A tool as every dialect needs it: name, description, JSON Schema of the input."""

    name: str
    description: str
    schema: dict[str, Any]


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """The model's JSON Schema without titles and with $refs resolved: not every vendor follows them."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})

    def inline(node: Any) -> Any:
        if isinstance(node, list):
            return [inline(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return inline(definitions[node["$ref"].rsplit("/", 1)[1]])
        return {key: inline(value) for key, value in node.items() if not (key == "title" and isinstance(value, str))}

    resolved: dict[str, Any] = inline(schema)
    resolved.pop("description", None)
    return resolved


def _spec(name: str, model: type[BaseModel]) -> ToolSpec:
    description = " ".join((model.__doc__ or "").split())
    return ToolSpec(name, description, _schema(model))


TOOLS: tuple[ToolSpec, ...] = tuple(_spec(name, model) for name, model in INPUTS.items())


class BadToolInput(ValueError):
    """The model's call can't be executed as sent; the text tells the model what to mend."""


def parse_call(name: str, value: dict[str, Any] | None) -> ToolInput:
    """The validated input of a call.

    Raises:
        BadToolInput: unknown tool, input that is not a JSON object, or fields that are wrong; the message names them.
    """
    model = INPUTS.get(name)
    if model is None:
        raise BadToolInput(f"There is no tool {name!r}. The tools are: {', '.join(INPUTS)}.")
    if value is None:
        raise BadToolInput(f"The input of {name} was not a JSON object. Send it again, complete.")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        fields = [(".".join(map(str, each["loc"])) or "input", each["msg"]) for each in error.errors()]
        problems = "; ".join(f"{name}: {message}" for name, message in fields)
        raise BadToolInput(f"The input of {name} can't be used: {problems}.") from error
