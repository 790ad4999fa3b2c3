"""The tools `TodoWrite` and `AskUserQuestion`, under the names that other clients gave them: a list that the person
sees, and questions with options.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct, structs, to_builtins

from clawft.agent.tools.tool import Tool, ToolContext, ToolResult, define_tool

_TODO = """\
Keep a list of what is to do in a task of several steps. The person sees it. Each call replaces the whole list; mark one
item as in_progress when you begin it, and as completed as soon as it is done."""
_ASK = """\
Ask the person one to four questions, where the task can mean different things and the answer changes what you do. Give
the likely answers as options; the person may also answer in their own words."""
_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}
_NOBODY = "Nobody is there to answer. Choose what is most likely meant, say that you did, and go on."


class TodoItem(Struct, frozen=True):
    """One item; what other clients say of it besides is ignored."""

    content: Annotated[str, Meta(min_length=1, max_length=500, description="What is to do, in a few words.")]
    status: Literal["pending", "in_progress", "completed"] = "pending"


class TodoWriteArguments(Struct, frozen=True, forbid_unknown_fields=True):
    todos: Annotated[tuple[TodoItem, ...], Meta(max_length=100, description="The whole list, in order.")]


class QuestionOption(Struct, frozen=True):
    label: Annotated[str, Meta(min_length=1, max_length=100, description="The answer, in a few words.")]
    description: Annotated[str, Meta(max_length=500, description="What it means.")] = ""


class UserQuestion(Struct, frozen=True, rename={"multi_select": "multiSelect"}):
    question: Annotated[str, Meta(min_length=1, max_length=2000, description="The whole question.")]
    header: Annotated[str, Meta(max_length=100, description="A word or two on what it is about.")] = ""
    options: Annotated[tuple[QuestionOption, ...], Meta(max_length=10, description="Likely answers.")] = ()
    multi_select: Annotated[bool, Meta(description="Several of them may be chosen.")] = False


class AskUserQuestionArguments(Struct, frozen=True, forbid_unknown_fields=True):
    questions: Annotated[tuple[UserQuestion, ...], Meta(min_length=1, max_length=4)]


async def _write_todos(arguments: TodoWriteArguments, _context: ToolContext) -> ToolResult:
    lines = [f"{_MARKS[item.status]} {' '.join(item.content.split())}" for item in arguments.todos]
    return ToolResult("\n".join(lines) or "The list is empty.", data={"todos": to_builtins(arguments.todos)})


async def _ask_questions(arguments: AskUserQuestionArguments, context: ToolContext) -> ToolResult:
    texts: list[str] = []
    answers: dict[str, str] = {}
    for question in arguments.questions:
        options = tuple(": ".join(filter(None, (option.label, option.description))) for option in question.options)
        answered = await context.choose(question.question, options)
        if answered.answer == "nobody":
            return ToolResult(_NOBODY, "partial", {"answers": answers})
        if answered.answer == "no":
            text = "(no answer)"
        else:
            text = answered.choice or "yes (they agreed, and chose none of the options)"
        texts.append(f"{question.question}\n→ {text}")
        answers[question.question] = text
    return ToolResult("\n\n".join(texts), data={"answers": answers})


def dialogue_tools() -> tuple[Tool, ...]:
    """Both tools. They do nothing but talk, so no mode forbids them."""
    tools = (
        define_tool("TodoWrite", _TODO, TodoWriteArguments, _write_todos),
        define_tool("AskUserQuestion", _ASK, AskUserQuestionArguments, _ask_questions),
    )
    return tuple(structs.replace(tool, judges_itself=True, repeatable=lambda _: True) for tool in tools)
