"""Cassettes: what was recorded is played again, and nothing else."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.domain.messages import Reply, ToolCall, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.redaction import Redactor
from pytest_crmeval.domain.usage import Bill
from pytest_crmeval.models import cassettes
from pytest_crmeval.models.cassettes import ReplayingModel
from pytest_crmeval.models.usage_meter import CallPurpose, UsageMeter, opened
from pytest_crmeval.ports.chat_model import Cause, Completion, ModelCall, ModelError, ModelIdentity, Prompt
from tests.fakes import call, calls, says
from tests.unit.models.recordings import ASKED, FILE, IDENTITY, PURPOSE, TOOLS, TWO_STEPS, asking, meter

FIRST, SECOND = TWO_STEPS


def model(folder: Path, identity: ModelIdentity = IDENTITY) -> ReplayingModel:
    """Return a model whose tokens are a cent each call."""
    return ReplayingModel(identity, folder, lambda usage: 0.01 * usage.calls)


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """Return a folder with the recording of two steps."""
    cassettes.write(tmp_path, meter(*TWO_STEPS))
    return tmp_path


def replayed(folder: Path, *prompts: Prompt, purpose: CallPurpose = PURPOSE) -> UsageMeter:
    """Ask again; return the meter."""
    with opened(UsageMeter(purpose=purpose)) as books:
        for prompt in prompts:
            model(folder).complete(prompt)
    return books


def refusal(folder: Path, *prompts: Prompt, purpose: CallPurpose = PURPOSE) -> str:
    """Ask again; return what is said about the last request."""
    with pytest.raises(ModelError) as caught:
        replayed(folder, *prompts, purpose=purpose)
    assert Cause.NOT_RECORDED == caught.value.cause
    return str(caught.value.args[0])


def test_a_recording_answers_as_the_model_did(tape: Path) -> None:
    """In words and calls, with the same tokens; what had to be tried again is forgotten."""
    books = replayed(tape, FIRST.prompt, SECOND.prompt)

    assert [FIRST.completion.reply, SECOND.completion.reply] == [one.completion.reply for one in books.calls]
    assert [("calls", 20), ("said", 20)] == [
        (one.completion.ending, one.completion.usage.output) for one in books.calls
    ]


def test_recording_of_the_model_that_a_named_agent_asked_before_is_replayed(tape: Path) -> None:
    """At the price of that model, and the trial names it; a recording of the present model is replayed as such."""
    now = replace(IDENTITY, model="gpt-next")
    successor = ReplayingModel(now, tape, lambda _: 5.0, former=model(tape))
    with opened(UsageMeter(purpose=PURPOSE)) as books:
        successor.complete(FIRST.prompt)
    assert books.bill is not None
    assert ([IDENTITY], 0.01) == ([one.identity for one in books.calls], books.bill.cost)

    cassettes.write(tape, meter(replace(FIRST, identity=now)))
    with opened(UsageMeter(purpose=PURPOSE)) as books:
        successor.complete(FIRST.prompt)
    assert [now] == [one.identity for one in books.calls]


def test_a_replayed_answer_is_on_the_books(tape: Path) -> None:
    bill = replayed(tape, FIRST.prompt, SECOND.prompt).bill

    assert bill is not None
    assert (0.02, 0.0, True) == (bill.cost, bill.spent, bill.replayed)
    assert (2, 0) == (bill.usage.calls, bill.usage.retries)


def test_a_model_without_a_price_has_none_when_it_is_replayed(tape: Path) -> None:
    """Which is not zero."""
    with opened(UsageMeter(purpose=PURPOSE)) as books:
        ReplayingModel(IDENTITY, tape, lambda _: None).complete(FIRST.prompt)

    assert books.bill == Bill(usage=books.calls[0].completion.usage, cost=None, replayed=True)


def test_a_recording_that_is_recorded_again_is_the_same(tape: Path) -> None:
    """Byte for byte."""
    books = replayed(tape, FIRST.prompt, SECOND.prompt)
    before = (tape / FILE).read_bytes()
    cassettes.write(tape, books)

    assert before == (tape / FILE).read_bytes()


def test_notes_of_the_recording_are_replayed(tmp_path: Path) -> None:
    """A setting that the model refused was left out when it was recorded, too; also when another trial is added."""
    noted = meter(*TWO_STEPS)
    noted.note("gpt-4.1 rejects temperature: omitted")
    cassettes.write(tmp_path, noted, Redactor())
    cassettes.write(tmp_path, meter(*TWO_STEPS, purpose=replace(PURPOSE, trial=2)))

    assert ["gpt-4.1 rejects temperature: omitted"] == replayed(tmp_path, FIRST.prompt, SECOND.prompt).notes
    assert [] == replayed(tmp_path, FIRST.prompt, purpose=replace(PURPOSE, trial=2)).notes


def test_notes_are_recorded_without_secrets(tmp_path: Path) -> None:
    """As everything is."""
    noted = meter(*TWO_STEPS)
    noted.note(f"it refuses {CANARY}")
    cassettes.write(tmp_path, noted, Redactor([CANARY]))

    assert ["it refuses [redacted]"] == replayed(tmp_path, FIRST.prompt).notes


@pytest.mark.parametrize("notes", ["7", '"odd"', "null", "{}"])
def test_invalid_notes_are_ignored(tape: Path, notes: str) -> None:
    """The answers are there."""
    path = tape / FILE
    path.write_text(path.read_text(encoding="utf-8").replace('{"provider', f'{{"notes": {notes}, "provider', 1))

    assert [] == replayed(tape, FIRST.prompt).notes


def test_requests_are_found_in_any_order(tape: Path) -> None:
    """By what they ask."""
    books = replayed(tape, SECOND.prompt, FIRST.prompt)

    assert [SECOND.completion.reply, FIRST.completion.reply] == [one.completion.reply for one in books.calls]


@pytest.fixture
def opinions(tmp_path: Path) -> Path:
    """Return a folder with three answers to one question."""
    cassettes.write(tmp_path, meter(*(asking(ASKED, reply=says(text)) for text in "abc")))
    return tmp_path


def words(books: UsageMeter) -> Sequence[str]:
    """Return what was answered."""
    return [one.completion.reply.text for one in books.calls]


def test_the_same_request_gets_its_answers_in_their_order(opinions: Path) -> None:
    """Each once in a trial, and from the first in the next."""
    question = FIRST.prompt

    assert ["a", "b", "c"] == words(replayed(opinions, question, question, question))
    assert ["a"] == words(replayed(opinions, question))


def test_an_answer_is_given_once(opinions: Path) -> None:
    """A fourth was not recorded."""
    said = refusal(opinions, *[FIRST.prompt] * 4)

    assert "request 4 is not in" in said
    assert "the recording ends before it" in said


def test_an_answer_is_given_once_although_several_ask_at_the_same_time(opinions: Path) -> None:
    with opened(UsageMeter(purpose=PURPOSE)) as books, ThreadPoolExecutor(3) as pool:
        contexts = [copy_context() for _ in range(3)]
        done = [pool.submit(context.run, model(opinions).complete, FIRST.prompt) for context in contexts]
        answers = {one.result().reply.text for one in done}

    assert {"a", "b", "c"} == answers
    assert 3 == len(books.calls)


def test_two_accounts_in_turn_are_not_mixed_up(opinions: Path) -> None:
    """A judge may be asked in between."""
    one, other = UsageMeter(purpose=PURPOSE), UsageMeter(purpose=PURPOSE)
    for books in (one, other, one, other):
        with opened(books):
            model(opinions).complete(FIRST.prompt)

    assert (["a", "b"], ["a", "b"]) == (words(one), words(other))


def test_a_file_is_read_once_in_a_trial(tape: Path) -> None:
    """What happens to it meanwhile is for the next."""
    with opened(UsageMeter(purpose=PURPOSE)) as books:
        model(tape).complete(FIRST.prompt)
        (tape / FILE).unlink()
        model(tape).complete(SECOND.prompt)

    assert 2 == len(books.calls)


def test_every_trial_has_its_own_recording(tape: Path) -> None:
    """A second attempt is another question."""
    second = replace(PURPOSE, trial=2)

    assert f"{tape / FILE} has no trial 2; it has 1" in refusal(tape, FIRST.prompt, purpose=second)
    cassettes.write(tape, meter(asking(ASKED, reply=says("Again.")), purpose=second))
    assert ["Again."] == words(replayed(tape, FIRST.prompt, purpose=second))


def test_recordings_of_judge_and_agent_are_separate(tape: Path) -> None:
    """Although both may be asked the same."""
    judge = replace(PURPOSE, role="judge")
    cassettes.write(tape, meter(asking(ASKED, reply=says("Guilty.")), purpose=judge))

    assert ["Guilty."] == words(replayed(tape, FIRST.prompt, purpose=judge))
    assert [""] == words(replayed(tape, FIRST.prompt))


def test_missing_cassette_is_reported_with_the_command_to_record_it(tape: Path) -> None:
    """And how to get one."""
    said = refusal(tape, FIRST.prompt, purpose=replace(PURPOSE, case="quote-0002"))

    missing = tape / "crm/gpt-4.1/quote-0002.jsonl"
    assert f"there is no {missing}\nrecord it with --crmeval-record {tape}" == said


def test_a_broken_cassette_is_named(tape: Path) -> None:
    """It is the trial that has no answer, and the run goes on."""
    with (tape / FILE).open("a", encoding="utf-8") as file:
        file.write("=======\n")

    assert f"{tape / FILE}:4: not an exchange" in refusal(tape, FIRST.prompt)


def test_request_sent_more_often_than_recorded_is_reported(tape: Path) -> None:
    """Nothing differs."""
    said = refusal(tape, SECOND.prompt, SECOND.prompt)

    assert "it equals a recorded request, but is sent more often than it was recorded" in said


NEW_TOOLS = (replace(TOOLS[0], description="Find a client or a company."),)
CHANGED = crm_says([ToolResult(value=[{"name": "Zoé"}], note="all"), SECOND.prompt.messages[-1].results[1]])


@pytest.mark.parametrize(
    ("prompt", "what", "lines"),
    [
        pytest.param(
            replace(SECOND.prompt, system="You are\na robot."),
            "the system prompt differs from what was recorded",
            ["-an agent.", "+a robot."],
            id="system prompt",
        ),
        pytest.param(
            replace(SECOND.prompt, tools=NEW_TOOLS),
            "the tools differ from what was recorded",
            ['-  "description": "Find a client.",', '+  "description": "Find a client or a company.",'],
            id="tools",
        ),
        pytest.param(
            replace(SECOND.prompt, messages=[*SECOND.prompt.messages[:2], CHANGED]),
            "message 3 of 3 differs from what was recorded",
            ['-     "name": "Zoë"', '+     "name": "Zoé"'],
            id="a message",
        ),
        pytest.param(
            replace(SECOND.prompt, messages=[*SECOND.prompt.messages, user_says("Hello?")]),
            "message 4 of 4 was not recorded",
            ['+ "text": "Hello?"'],
            id="another message",
        ),
        pytest.param(
            replace(SECOND.prompt, messages=SECOND.prompt.messages[:2]),
            "message 3 of 3 was recorded, but is missing now",
            ['- "speaker": "crm",'],
            id="a message less",
        ),
        pytest.param(
            replace(SECOND.prompt, must_call="search"),
            "the tool that has to be called differs from what was recorded",
            ["+search"],
            id="must call",
        ),
        pytest.param(
            FIRST.prompt,
            "message 2 of 3 was recorded, but is missing now",
            ['- "speaker": "agent",'],
            id="asked before",
        ),
    ],
)
def test_a_request_that_was_not_recorded_shows_what_differs(
    tape: Path, prompt: Prompt, what: str, lines: list[str]
) -> None:
    """From the one that was recorded in its place, and how to record it again."""
    said = refusal(tape, FIRST.prompt, prompt)

    assert said.startswith(f"request 2 is not in {tape / FILE}: {what}\n--- recorded\n+++ asked\n")
    assert set(lines) <= set(said.splitlines())
    assert said.endswith(f"\nrecord it again with --crmeval-record {tape}")


@pytest.mark.parametrize(
    ("identity", "what"),
    [
        (replace(IDENTITY, provider="anthropic"), "the provider differs"),
        (replace(IDENTITY, model="gpt-4.1-mini"), "the model differs"),
        (replace(IDENTITY, settings={"temperature": 1.0, "max_output_tokens": 800}), "the settings differ"),
    ],
)
def test_other_model_or_settings_are_not_replayed(tape: Path, identity: ModelIdentity, what: str) -> None:
    """Nor the same one with other settings."""
    with opened(UsageMeter(purpose=PURPOSE)), pytest.raises(ModelError, match=what):
        model(tape, identity).complete(FIRST.prompt)


def test_difference_is_shown_even_if_recorded_prompts_are_missing(tape: Path) -> None:
    """As well as it can."""
    for path in (tape / "prompts").iterdir():
        path.unlink()

    said = refusal(tape, replace(FIRST.prompt, system="Another."))

    assert "the system prompt or the tools differ from what was recorded (prompts/" in said
    assert ["calls"] == [one.completion.ending for one in replayed(tape, FIRST.prompt).calls]


@pytest.mark.parametrize("text", ["x" * 100_000, "line\n" * 20_000, "\n".join(map(str, range(20_000)))])
def test_a_complaint_is_short(tape: Path, text: str) -> None:
    """However long the messages are."""
    assert 2_000 >= len(refusal(tape, replace(FIRST.prompt, messages=[user_says(text)], system=text)))
    assert 2_000 >= len(refusal(tape, replace(FIRST.prompt, messages=[user_says(text)])))


def test_a_difference_at_the_end_of_a_long_text_is_seen(tmp_path: Path) -> None:
    """The beginning, which is the same, is not shown."""
    cassettes.write(tmp_path, meter(asking(user_says("x" * 50_000 + "old"), reply=says("Yes."))))

    said = refusal(tmp_path, replace(FIRST.prompt, messages=[user_says("x" * 50_000 + "new")]))

    assert ["-", "+"] == [line[0] for line in said.splitlines() if line.endswith(('old"', 'new"'))]


@pytest.mark.parametrize(
    "odd",
    [
        Reply(text="half \ud83d"),
        Reply(text="\ud83d\ude00"),
        Reply(calls=(ToolCall(tool="search", arguments="{broken"),)),  # type: ignore[arg-type] # what a model sends
        calls(call("search", rate=float("nan"))),
        calls(call("search", rate=float("inf"))),
    ],
)
def test_odd_answers_lead_to_the_same_requests(tmp_path: Path, odd: Reply) -> None:
    """What was recorded is part of the next request, and has to be recognised there."""
    after = asking(ASKED, agent_says(odd), crm_says([ToolResult(value="?")]), reply=says("Done."))
    cassettes.write(tmp_path, meter(asking(ASKED, reply=odd), after))

    with opened(UsageMeter(purpose=PURPOSE)):
        given = model(tmp_path).complete(FIRST.prompt).reply
        messages = [ASKED, agent_says(given), crm_says([ToolResult(value="?")])]
        last = model(tmp_path).complete(replace(FIRST.prompt, messages=messages))

    assert "Done." == last.reply.text


CANARY = "canary-4711"
HIDDEN = "the recorded exchange contains a secret, which was not recorded; record it again without the secret"


@pytest.mark.parametrize(
    "leak", [says(f"Your key is {CANARY}."), calls(call("search", name=CANARY))], ids=["in words", "in a call"]
)
def test_an_answer_that_lost_a_secret_is_not_played(tmp_path: Path, leak: Reply) -> None:
    """It is not what the model has said."""
    cassettes.write(tmp_path, meter(asking(ASKED, reply=leak)), Redactor([CANARY]))

    assert f"request 1 is not in {tmp_path / FILE}: {HIDDEN}" == refusal(tmp_path, FIRST.prompt)


def test_a_question_that_lost_a_secret_is_not_found(tmp_path: Path) -> None:
    """Whether or not the secret is known to those who play it again."""
    asked = asking(user_says(f"Note {CANARY}."), reply=says("Done."))
    cassettes.write(tmp_path, meter(asked), Redactor([CANARY]))

    for redactor in (Redactor(), Redactor([CANARY])):
        with opened(UsageMeter(purpose=PURPOSE)), pytest.raises(ModelError) as caught:
            ReplayingModel(IDENTITY, tmp_path, lambda _: None, redactor).complete(asked.prompt)

        assert f"request 1 is not in {tmp_path / FILE}: {HIDDEN}" == caught.value.args[0]


def test_a_complaint_shows_no_secret(tape: Path) -> None:
    prompt = replace(FIRST.prompt, messages=[user_says("x" * 90 + CANARY)])
    with opened(UsageMeter(purpose=PURPOSE)), pytest.raises(ModelError) as caught:
        ReplayingModel(IDENTITY, tape, lambda _: None, Redactor([CANARY])).complete(prompt)

    assert "message 1 of 1 differs" in caught.value.args[0]
    assert "canary" not in caught.value.args[0]


def with_keys(path: Path) -> list[dict[str, Any]]:
    """Give every line of a cassette a key, as lines had once; return them."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    aged = [line if "cassette" in line else {**line, "key": "0" * 64} for line in found]
    path.write_text("".join(json.dumps(line) + "\n" for line in aged), encoding="utf-8")
    return aged


def test_a_cassette_with_keys_is_still_played(tape: Path) -> None:
    """Whatever they are."""
    with_keys(tape / FILE)

    assert ["", "She is here."] == words(replayed(tape, FIRST.prompt, SECOND.prompt))


def test_an_older_cassette_that_lost_something_is_not_played(tmp_path: Path) -> None:
    """Its lines have no mark."""
    cassettes.write(tmp_path, meter(asking(ASKED, reply=says("Basic [redacted] Ltd"))))
    with_keys(tmp_path / FILE)

    assert refusal(tmp_path, FIRST.prompt).endswith(HIDDEN)


class CountedTools(Sequence[Any]):
    """Tools that know how often they were looked at."""

    looks = 0

    def __len__(self) -> int:
        """Return how many there are."""
        return len(TOOLS)

    def __getitem__(self, place: Any) -> Any:  # noqa: ANN401 (a sequence's own)
        """Return one."""
        return TOOLS[place]

    def __iter__(self) -> Iterator[Any]:
        """Count."""
        self.looks += 1
        return iter(TOOLS)


def test_tools_are_looked_at_once(tape: Path) -> None:
    """They are 30 kB, and the same in every request."""
    tools = CountedTools()
    prompts = [replace(one.prompt, tools=tools) for one in TWO_STEPS]
    replayed(tape, *prompts)

    assert 1 == tools.looks


def transcript(folder: Path, calls: Sequence[ModelCall], trial: int = 1, **more: Any) -> None:  # noqa: ANN401 (JSON)
    """Write what a run writes of a trial."""
    path = folder / f"crm/gpt-4.1/quote-0001{'' if trial == 1 else f'.{trial}'}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"schema": "crmeval.transcript/1", "exchanges": cassettes.lines_of(calls, trial), **more}
    path.write_text(json.dumps(document), encoding="utf-8")
    cassettes.write_prompts(folder, calls)


def test_the_transcripts_of_a_run_are_cassettes(tmp_path: Path) -> None:
    """Of every trial, and of the judge."""
    opinion = cassettes.lines_of([asking(ASKED, reply=says("Guilty."))], 1)
    transcript(tmp_path, TWO_STEPS, judge={"exchanges": opinion})
    transcript(tmp_path, [asking(ASKED, reply=says("Again."))], trial=2)

    assert ["", "She is here."] == words(replayed(tmp_path, FIRST.prompt, SECOND.prompt))
    assert ["Again."] == words(replayed(tmp_path, FIRST.prompt, purpose=replace(PURPOSE, trial=2)))
    assert ["Guilty."] == words(replayed(tmp_path, FIRST.prompt, purpose=replace(PURPOSE, role="judge")))


def test_a_transcript_that_lost_a_secret_is_not_played(tmp_path: Path) -> None:
    """Nor what was taken out of it afterwards."""
    transcript(tmp_path, [asking(ASKED, reply=says("Authorization: Bearer [redacted]"))])

    assert refusal(tmp_path, FIRST.prompt).endswith(HIDDEN)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (
            {"judgement": {"cached": True}},
            "the judgement of this trial came from the cache, and answers another request",
        ),
        ({}, "no judge gave an answer in this trial"),
    ],
)
def test_missing_judge_in_a_transcript_is_reported(tmp_path: Path, record: dict[str, Any], why: str) -> None:
    """There is nothing that could be recorded into it."""
    transcript(tmp_path, TWO_STEPS, record=record)

    said = refusal(tmp_path, FIRST.prompt, purpose=replace(PURPOSE, role="judge"))

    path = tmp_path / FILE.replace(".jsonl", ".json")
    assert f"{path}: {why}\nplay it again without --crmeval-replay" == said


def test_a_transcript_is_not_recorded_again(tmp_path: Path) -> None:
    transcript(tmp_path, TWO_STEPS)

    said = refusal(tmp_path, replace(FIRST.prompt, system="You are\na robot."))

    assert "+a robot." in said.splitlines()
    assert said.endswith("play it again without --crmeval-replay")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "Expecting property name"),
        ("[]", "list indices"),
        ('{"schema": "crmeval.report/1"}', "unsupported schema 'crmeval.report/1'"),
        ('{"schema": "crmeval.transcript/1"}', "it has no 'exchanges'"),
        ('{"schema": "crmeval.transcript/1", "exchanges": [{}]}', "it has no 'ending'"),
    ],
)
def test_invalid_transcript_is_reported_with_the_reason(tmp_path: Path, content: str, why: str) -> None:
    """With the reason."""
    transcript(tmp_path, TWO_STEPS)
    path = tmp_path / FILE.replace(".jsonl", ".json")
    path.write_text(content, encoding="utf-8")

    said = refusal(tmp_path, FIRST.prompt)

    assert said.startswith(f"{path}: not a transcript with exchanges (")
    assert why in said


def test_a_model_that_is_asked_outside_of_a_trial_was_not_recorded(tape: Path) -> None:
    """There is no case that it could have been recorded for."""
    with pytest.raises(ModelError, match="there is no"):
        model(tape).complete(FIRST.prompt)


def test_replaying_model_has_the_identity_of_the_recorded_one(tape: Path) -> None:
    """The one that was recorded."""
    assert IDENTITY == model(tape).identity


def completion(text: str) -> Completion:
    """Return an answer in words."""
    return replace(SECOND.completion, reply=says(text))


def test_models_of_one_trial_share_its_recording(tmp_path: Path) -> None:
    """A student and a teacher, who may even be the same model."""
    teacher = replace(IDENTITY, model="gpt-4.1-mini")
    told = [
        replace(FIRST, completion=completion("student")),
        replace(FIRST, identity=teacher, completion=completion("teacher")),
        replace(FIRST, completion=completion("student again")),
    ]
    cassettes.write(tmp_path, meter(*told))

    with opened(UsageMeter(purpose=PURPOSE)) as books:
        for identity in (IDENTITY, teacher, IDENTITY):
            model(tmp_path, identity).complete(FIRST.prompt)

    assert ["student", "teacher", "student again"] == words(books)


def test_models_that_are_asked_in_threads_share_it_too(tmp_path: Path) -> None:
    """Although each thread reads the file itself."""
    teacher = replace(IDENTITY, model="gpt-4.1-mini")
    pairs = [(IDENTITY, "one"), (teacher, "two"), (IDENTITY, "three"), (teacher, "four")]
    told = [replace(FIRST, identity=identity, completion=completion(text)) for identity, text in pairs]
    cassettes.write(tmp_path, meter(*told))

    with opened(UsageMeter(purpose=PURPOSE)) as books:
        contexts = [copy_context(), copy_context()] * 2
        for context, (identity, _) in zip(contexts, pairs, strict=True):
            context.run(model(tmp_path, identity).complete, FIRST.prompt)

    assert ["one", "two", "three", "four"] == words(books)
