"""Writes expected.json: what the chat templates of this folder give for conversations with and without tools.

    /usr/bin/python3 tests/golden/chat/make_chat.py        # Jinja2 3.1.2, Python 3.11

The templates were written for the tests, in the forms that families of models use. They are rendered by Jinja2 as
Hugging Face's transformers does it: trim_blocks, lstrip_blocks, tojson with json.dumps and without escapes of HTML,
raise_exception, tools and documents None where there are none.
"""
import json
from pathlib import Path

from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

here = Path(__file__).parent


def raise_exception(message):
    raise ValueError(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
environment.filters["tojson"] = to_json
environment.globals["raise_exception"] = raise_exception

weather = {
    "name": "get_weather",
    "description": "The weather of a town, \"now\" & <later>",
    "parameters": {
        "type": "object",
        "properties": {"town": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
        "required": ["town"],
    },
}
tools = [{"type": "function", "function": weather}, {"type": "function", "function": {"name": "noon"}}]
call = {"id": "call00001", "type": "function", "function": {"name": "get_weather", "arguments": {"town": "Ürümqi"}}}
question = [{"role": "user", "content": "Will it rain?"}]
system = [{"role": "system", "content": "Be brief."}]
conversations = {
    "question": question,
    "system": system + question,
    "answered": question + [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "When?"}],
    "called": question
    + [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "get_weather", "tool_call_id": "call00001", "content": '{"rain": true}'},
    ],
}
expected = []
for file in sorted(here.glob("*.jinja")):
    template = environment.from_string(file.read_text())
    for name, messages in conversations.items():
        for own in [None, tools] if file.stem != "gemma" else [None]:
            for prompt in [True, False]:
                variables = dict(messages=messages, tools=own, documents=None, add_generation_prompt=prompt)
                try:
                    text = template.render(**variables, bos_token="<s>", eos_token="</s>")
                except ValueError as error:
                    text = None
                expected.append(dict(template=file.name, conversation=name, tools=own is not None, prompt=prompt, text=text))
(here / "expected.json").write_text(
    json.dumps(dict(tools=tools, conversations=conversations, expected=expected), ensure_ascii=False, indent=1) + "\n"
)
