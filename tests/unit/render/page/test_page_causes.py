"""Why trials did not pass, in words."""

from dataclasses import replace

from pytest_crmeval.domain.explanation import Fault
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.trial import Trial, TurnOutcome
from pytest_crmeval.render.page.causes import causes_in, causes_of, in_words
from pytest_crmeval.render.page.rows import causes, is_measured
from tests.fakes import planned, trial

IN_WORDS = {
    "quotes Q (3f2504e0-4f89-11d3-9a0c-0305e82c3301): status expected 'Approved', actual 'Draft'": "wrong quote status",
    "opportunities o-1: close_date expected None, actual '2026-01-01'": "wrong opportunity close date",
    "notes: missing: content='Call back.'": "note not created",
    "notes: 2 unexpected: content='Hello.'": "unexpected note",
    "clients Acme (c-1): was deleted": "client deleted by mistake",
    "clients Acme (c-1): should have been deleted": "client not deleted",
    "not made: client_search(name='Acme')": "client_search not called",
    "not written: modify_client(client_id='c-1')": "modify_client not called, or with other values",
    "written but not requested: delete_quote(quote_id='q-1')": "delete_quote called without a request",
    "written but not requested, and undone in the same turn: add_note()": "add_note called without a request",
    "not attempted, record not read: add_note(a=1), which the CRM refuses": "add_note not attempted, record not read",
    "no call was answered; expected add_note(content='x')": "add_note not answered",
    "the reply does not say 84000.5": "the reply leaves out a value",
    "the reply does not say that it was done": "the reply does not say that it was done",
    '"There are 42": no record or message has it': "the reply says something that no record or message has",
    '"Ada was deleted.": nothing was written': "the reply reports a change that was not made",
    '"The quote is sent": Q-7 was changed': "the reply contradicts the records",
    "own scorer: 17 of 20 expected": "own scorer: # of # expected",
}


def test_faults_differ_by_what_is_wrong_and_not_by_ids_and_values() -> None:
    assert IN_WORDS == {text: in_words(Fault(score="state", text=text)) for text in IN_WORDS}


def failed(case: str, *reasons: str) -> Trial:
    """Return a trial with these reasons."""
    return replace(
        trial(planned(case), Verdict.FAILED), scores=(Score(name="state", value=0.0, reason="\n".join(reasons)),)
    )


def test_the_most_frequent_cause_comes_first_with_an_example() -> None:
    trials = [
        failed("one", "notes: missing: content='a'", "notes: missing: content='b'"),
        failed("two", "notes: missing: content='c'", "clients Acme (c-1): was deleted"),
        trial("three"),
        replace(trial(planned("four"), Verdict.ERRORED), reason="ConnectionError: port 5432"),
    ]
    found = [(cause.score, cause.text, cause.trials) for cause in causes_of("crm", trials)]

    assert [("state", "note not created", 2), ("", "errored: ConnectionError: port #", 1)] == found[:2]
    assert ("state", "client deleted by mistake", 1) == found[2]
    first = causes_of("crm", trials)[0]
    assert ("one", "notes: missing: content='a'") == (first.case, first.example)
    assert "#case?suite=crm&subject=oracle&case=one&trial=1" == first.example_link
    assert {} == causes_in(trial("three"))


def test_a_cause_names_the_tools_of_the_turns_that_failed() -> None:
    """Unless it names one itself; of a fault of the whole conversation, the tool of the first turn that failed."""
    turns = tuple(
        TurnOutcome(tool=tool, called=tool == "client_search", replied=True, steps=1, errors=0)
        for tool in ("client_search", "create_quote", "add_note")
    )
    reasons = ("notes: missing: content='a'", "turn 3: not made: add_note()", "turn 1: the reply is empty")
    found = causes_of("crm", [replace(failed("one", *reasons), turns=turns)])

    assert {
        "note not created": [("create_quote", 1)],
        "add_note not called": [],
        "the reply is empty": [("client_search", 1)],
    } == {cause.text: cause.tools for cause in found}


def test_the_list_of_trials_can_be_filtered_by_cause() -> None:
    found = causes(
        [trial("one"), failed("two", "notes: missing: content='c'"), failed("three", "clients x: was deleted")]
    )

    assert {
        "causes": ["state: note not created", "state: client deleted by mistake"],
        "causesOf": {"1": [0], "2": [1]},
    } == found


def test_other_trials_than_solution_files_are_never_only_measured() -> None:
    assert not is_measured(replace(trial("one"), scores=(Score(name="state", value=0.0, threshold=0.0),)))
