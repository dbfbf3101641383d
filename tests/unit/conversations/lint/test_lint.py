"""Files of conversations, looked through."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.conversations.dataset.findings import LONGEST, FindingKind
from pytest_crmeval.conversations.lint.lint import SOME_ID, Lint
from pytest_crmeval.conversations.lint.output import SCHEMA, document, lines
from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.domain.messages import ToolCall
from tests.projects import Written, case

PUBLISHED = Path(__file__).parents[5] / "shared/data/clbench_dev.jsonl"
HARBOR, LUMEN = "5fcdb532-cec1-59dd-933c-2ef2b966d0b0", "248b3c5a-7213-589a-bf40-2bb3e2d369ed"
FOREIGN = "00000000-1111-4222-8333-444444444444"
ONE_CLIENT = {"Client": {HARBOR: {"name": "Harbor Light", "status": "Active", "industry": "Shipping"}}}
TWO_CLIENTS = {"Client": {HARBOR: {"name": "Harbor Light"}, LUMEN: {"name": "Lumen Fiber"}}}


@pytest.fixture
def kinds(written: Written) -> Callable[..., dict[str, tuple[int, int]]]:
    """Return a function that returns the kinds found in some lines, each with its number of turns and conversations."""

    def look(*written_lines: dict[str, Any] | str, check: Callable[[ToolCall], str] | None = None) -> dict[str, Any]:
        found = Lint(check).check_files([written(*written_lines)])
        counts = {kind.label: (len(count.turns), len(count.lines)) for kind, count in found.counts.items()}
        return {label: count for label, count in counts.items() if any(count)}

    return look


Kinds = Callable[..., dict[str, tuple[int, int]]]


def turn(utterance: str, tool: str, /, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a turn; what is in capitals is a field of the turn, anything else an argument."""
    fields = {name.lower(): changes.pop(name) for name in list(changes) if name.isupper()}
    return {"user_utterance": utterance, "expected_tool": tool, "expected_args": changes, **fields}


def talk(
    *turns: dict[str, Any],
    seed: dict[str, Any] | None = None,
    **changes: Any,  # noqa: ANN401 (JSON)
) -> dict[str, Any]:
    """Return a conversation."""
    numbered = [{"turn_id": number, **each} for number, each in enumerate(turns, start=1)]
    return {"conversation_id": "one", "turns": numbered, "initial_entities": {"seed_data": seed or {}}, **changes}


def answered(text: str) -> dict[str, Any]:
    """Return a conversation with an expected response."""
    response = {"text": text, "answers": [text]}
    said = f"Find Harbor Light, {LUMEN}, since 2024-01-01T00:00:00+00:00."
    return talk(turn(said, "client_search", name="Harbor Light", EXPECTED_RESPONSE=response), seed=ONE_CLIENT)


def test_valid_cases_have_no_findings(kinds: Kinds) -> None:
    """The smallest one, and a small dialogue."""
    dialogue = talk(
        turn("Find Harbor Light.", "client_search", criteria={"name": "Harbor Light"}),
        turn("They are in retail.", "modify_client", client_id="{{turn_1.client_id}}", industry="Retail"),
        seed=ONE_CLIENT,
        workflow_category="Client Management",
    )

    assert {} == kinds(case("small"), dialogue)


def test_a_line_that_can_t_be_read_does_not_stop_the_search(kinds: Kinds) -> None:
    """The others are looked at."""
    assert {"unreadable-line": (0, 2), "duplicate-id": (0, 1)} == kinds("{", case("one"), "{}", "", case("one"))


def test_an_id_is_unique_across_files(written: Written) -> None:
    """As it has to be when they are played together."""
    first, second = written(case("one"), name="a.jsonl"), written(case("two"), case("one"), name="b.jsonl")

    ((place, finding),) = Lint().check_files([first, second]).counts[FindingKind.DUPLICATE_ID].examples

    assert (str(second), 2, f"'one' is already used in {first}:1") == (place.file, place.line, finding.text)


def test_a_tool_that_does_not_exist(kinds: Kinds) -> None:
    """Also where a refusal is expected: it is a misprint."""
    asked, refused = turn("Fly.", "fly"), turn("Fly.", "fly", EXPECT_SUCCESS=False)

    assert {"unknown-tool": (2, 1)} == kinds(talk(asked, refused))


def test_arguments_that_are_refused(kinds: Kinds) -> None:
    asked: list[ToolCall] = []

    def check(call: ToolCall) -> str:
        asked.append(call)
        return "" if "name" in call.arguments else "Name must be given."

    found = kinds(
        talk(
            turn("Find Harbor.", "client_search", name="Harbor"),
            turn("Who works there?", "contact_search", criteria={"client_id": "{{turn_1.client_id}}"}),
            turn("Find {{turn_1.name}}.", "client_search", name="{{turn_1.name}}"),
            turn("Find whatever.", "client_search", EXPECT_SUCCESS=False),
            seed=ONE_CLIENT,
            complexity_level="medium",
        ),
        check=check,
    )

    assert {"refused-arguments": (1, 1), "reference-in-utterance": (1, 1)} == found
    assert [{"name": "Harbor"}, {"criteria": {"client_id": SOME_ID}}] == [call.arguments for call in asked]


def test_an_abyss_is_looked_into(kinds: Kinds) -> None:
    deep: Any = "{{turn_1.client_id}}"
    for _ in range(500):
        deep = [deep]
    search = turn("Find Harbor.", "client_search", name="Harbor")

    assert {} == kinds(
        talk(search, turn("There?", "contact_search", client_id=deep), seed=ONE_CLIENT), check=lambda _: ""
    )


def test_defects_are_found(kinds: Kinds) -> None:
    """Those that make a case invalid when it is played."""
    response = {"text": "Added a quote over $75000.0."}
    first = turn("Find {stage}.", "opportunity_search", stage="{stage}")
    second = turn("Quote it.", "create_quote", amount=75000, status="Draft", EXPECTED_RESPONSE=response)
    third = turn("Delete {{turn_9.quote_id}}.", "delete_quote", quote_id="{{turn_9.quote_id}}")

    found = kinds(talk(first, second, third))

    assert {
        "placeholder-in-utterance": (1, 1),
        "placeholder-in-arguments": (1, 1),
        "leaked-value": (1, 1),
        "unsaid-value": (1, 1),
        "bad-reference": (1, 1),
        "reference-in-utterance": (1, 1),
    } == found


def test_the_same_words_with_different_labels(kinds: Kinds) -> None:
    """Ids make no difference, neither in the words nor in the label, and a reference is an id."""
    every = turn("Find deals.", "opportunity_search")
    some = turn("Find deals.", "opportunity_search", criteria={"owner": "Dana"})
    one = turn(f"Show {HARBOR}.", "client_search", client_id=HARBOR)
    other = turn(f"Show {LUMEN}.", "client_search", client_id=LUMEN)
    again = turn("Show {{turn_1.client_id}}.", "client_search", client_id="{{turn_1.client_id}}")
    cases = [talk(every, conversation_id="a"), talk(some, conversation_id="b"), talk(every, conversation_id="c")]
    same = [talk(one, again, conversation_id="d"), talk(other, again, conversation_id="e")]

    assert {"same-utterance": (3, 3), "bare-search": (1, 1), "reference-in-utterance": (2, 2)} == kinds(*cases, *same)


@pytest.mark.parametrize(
    ("utterance", "tool", "filters", "kind"),
    [
        ("Find deals in stage Proposal", "opportunity_search", {"name": "Proposal"}, "contradicted-filter"),
        ("Find people with first name Mira", "contact_search", {"last_name": "Mira"}, "contradicted-filter"),
        ("Find quotes with status Sent", "quote_search", {"version": "Sent"}, "contradicted-filter"),
        ("Search for opportunities", "opportunity_search", {"stage": "Qualification"}, "bare-search"),
        ("Please show me all our contacts!", "contact_search", {"first_name": "John"}, "bare-search"),
        ("What is open at Harbor Light?", "opportunity_search", {"stage": "Qualification"}, "unsaid-filter"),
        ("Which of them are partners?", "company_search", {"type": "Partner"}, "nothing-to-find"),
        ("What prefixes are there?", "quote_prefixes", {}, "nothing-to-find"),
        ("Execute list_clients", "list_clients", {}, "tool-name-said"),
    ],
)
def test_unusual_reads_are_reported(
    kinds: Kinds, utterance: str, tool: str, filters: dict[str, str], kind: str
) -> None:
    """They can be passed: any read that finds the rows will do."""
    assert {kind: (1, 1)} == kinds(talk(turn(utterance, tool, **filters)))


@pytest.mark.parametrize(
    ("utterance", "tool", "filters"),
    [
        ("Find deals in stage Proposal", "opportunity_search", {"stage": "Proposal", "name": "deals"}),
        ("Find deals in stage Proposal", "opportunity_search", {}),
        ("Show me contracts", "contract_search", {"client_id": HARBOR}),
        ("Search for opportunities", "opportunity_search", {}),
        ("Show me Mira", "contact_search", {"first_name": "mira"}),
        ("Compare the quotes", "compare_quotes", {"quote_ids": [HARBOR]}),
        ("What are snake_case names?", "client_search", {"name": "snake_case"}),
    ],
)
def test_reads_that_are_not_odd(kinds: Kinds, utterance: str, tool: str, filters: dict[str, Any]) -> None:
    assert {} == kinds(talk(turn(utterance, tool, **filters), seed=ONE_CLIENT))


def test_prefixes_can_be_found_when_there_are_any(kinds: Kinds) -> None:
    quote = turn("Quote 5 with prefix HL as a draft.", "create_quote", amount=5, quote_prefix="HL", status="Draft")

    assert {} == kinds(talk(quote, turn("Which prefixes?", "quote_prefixes")))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Confirmed Harbor Light.", set()),
        (f"Confirmed Harbor Light, {HARBOR.upper()} and {LUMEN}.", set()),
        ("Created 2024-01-01T00:00:00+00:00.", set()),
        ("Created 2025-11-12T01:45:21.058897+00:00.", {"stale-timestamp"}),
        ("Valid until 2025-11-12.", set()),
        (f"Added {FOREIGN}.", {"foreign-id"}),
        ("Added {{turn_1.name}}.", {"unresolved-response"}),
        ("Added {{opportunity_name}}.", {"unresolved-response"}),
        ("Added null to the CRM.", {"null-name"}),
        ("Nothing was nullified.", set()),
    ],
)
def test_impossible_replies_are_reported(kinds: Kinds, text: str, found: set[str]) -> None:
    """What no truthful agent says."""
    assert dict.fromkeys(found, (1, 1)) == kinds(answered(text))


def test_responses_that_can_be_reproduced_are_counted(written: Written) -> None:
    first, second = answered("Confirmed Harbor Light."), answered(f"Added {FOREIGN}.")
    path = written(first, {**second, "conversation_id": "two"}, case("three"))

    assert 1 == Lint().check_files([path]).reproducible


def test_references_that_are_not_listed(kinds: Kinds) -> None:
    first = turn("Find Harbor.", "client_search", name="Harbor")
    second = turn("Who works there?", "contact_search", client_id="{{turn_1.client_id}}")
    empty, listed = {**second, "references_previous_turns": []}, {**second, "references_previous_turns": [1]}
    talks = [talk(first, each, seed=ONE_CLIENT, conversation_id=str(id(each))) for each in (second, empty, listed)]

    assert [{}, {"unlisted-reference": (1, 1)}, {}] == [kinds(each) for each in talks]


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"conversation_id": "SKEL-CLIENT SEARCH_medium_0_1"}, "label-not-level"),
        ({"complexity_level": "medium"}, "level-not-turns"),
        ({"complexity_level": "complex"}, "level-not-turns"),
        ({"workflow_category": "Quote Management"}, "wrong-category"),
        ({"conversation_id": "SKEL-COMPARE QUOTES_simple_0_1"}, "wrong-category"),
        ({"conversation_id": "SKEL-CREATE NEW CLIENT_simple_0_1", "workflow_category": "General"}, "general-category"),
        ({"workflow_category": "General"}, "general-category"),
        ({"workflow_category": "Unknown"}, None),
        ({"conversation_id": "SKEL-SOMETHING ELSE_simple_0_1"}, None),
    ],
)
def test_labels_that_don_t_fit(kinds: Kinds, changes: dict[str, str], kind: str | None) -> None:
    """The conversation, and each other."""
    search = turn("Find Harbor Light.", "client_search", name="Harbor Light")
    labelled = {"workflow_category": "Client Management", **changes}

    assert ({kind: (0, 1)} if kind else {}) == kinds(talk(search, seed=ONE_CLIENT, **labelled))


def test_a_mixed_conversation_may_be_general(kinds: Kinds) -> None:
    """It is about several things."""
    turns = [turn("Find Harbor.", "client_search", name="Harbor"), turn("And deals?", "opportunity_search")]

    assert {} == kinds(talk(*turns, workflow_category="General", seed=ONE_CLIENT))


@pytest.mark.parametrize(("count", "odd"), [(3, True), (4, False), (6, False), (7, False), (12, False)])
def test_a_chain_may_be_longer(kinds: Kinds, count: int, *, odd: bool) -> None:
    """It is made of several conversations."""
    turns = [turn("Find Harbor.", "client_search", name="Harbor")] * count
    chain = {"chain_id": "chain", "segment_boundaries": [count], "complexity_level": "medium"}

    assert ({"level-not-turns": (0, 1)} if odd else {}) == kinds(talk(*turns, seed=ONE_CLIENT, **chain))


def test_an_alias_is_noticed(kinds: Kinds) -> None:
    """The published data has one."""
    said = "Attach a.pdf from https://a.example/a.pdf to Harbor Light."
    upload = turn(
        said,
        "upload_document",
        entity_type="Client",
        entity_id=HARBOR,
        document_url="https://a.example/a.pdf",
        file_name="a.pdf",
    )

    assert {"aliased-argument": (1, 1)} == kinds(talk(upload, seed=ONE_CLIENT))


@pytest.mark.parametrize(
    ("identity", "seed", "changes", "noticed"),
    [
        (HARBOR, ONE_CLIENT, {"status": "Active"}, True),
        (HARBOR, ONE_CLIENT, {"updates": {"status": "Active", "industry": "Shipping"}}, True),
        ("{{turn_1.client_id}}", ONE_CLIENT, {"status": "Active"}, True),
        (HARBOR, ONE_CLIENT, {"status": "Active", "industry": "Retail"}, False),
        (HARBOR, TWO_CLIENTS, {"status": "Active"}, False),
        ("{{turn_1.client_id}}", TWO_CLIENTS, {"name": "Harbor Light"}, False),
    ],
)
def test_a_change_that_changes_nothing(
    kinds: Kinds, identity: str, seed: dict[str, Any], changes: dict[str, str], *, noticed: bool
) -> None:
    first = turn("Find Harbor Light.", "client_search", name="Harbor Light")
    second = turn("Make it active, retail or shipping.", "modify_client", client_id=identity, **changes)

    assert ({"no-op": (1, 1)} if noticed else {}) == kinds(talk(first, second, seed=seed))


def test_a_change_back_is_a_change(kinds: Kinds) -> None:
    """The record is not what it was."""
    away = turn("Make Harbor inactive.", "modify_client", client_id=HARBOR, status="Inactive")
    back = turn("No, active!", "modify_client", client_id=HARBOR, status="Active")

    assert {} == kinds(talk(away, back, seed=ONE_CLIENT))


def test_a_turn_is_counted_once(written: Written) -> None:
    quote = turn("Quote it.", "create_quote", amount=5, status="Draft")

    count = Lint(examples=9).check_files([written(talk(quote))]).counts[FindingKind.UNSAID_VALUE]

    assert (1, 1, ["amount=5", "status='Draft'"]) == (
        len(count.turns),
        len(count.lines),
        [finding.text for _, finding in count.examples],
    )


@pytest.mark.parametrize("examples", [0, 1, 2])
def test_examples_are_limited(written: Written, examples: int) -> None:
    path = written(*["{"] * 5)

    shown = Lint(examples=examples).check_files([path]).counts[FindingKind.UNREADABLE_LINE].examples

    assert list(range(1, examples + 1)) == [place.line for place, _ in shown]


def test_long_examples_are_cut_to_one_line(written: Written) -> None:
    """And stays on its line, whatever the case is called."""
    long = talk(turn(f"Quote it.\n{'x' * 5000}", "opportunity_search", stage="Sent" * 99), conversation_id="a\x1b[2Jb")
    path = written(long)

    message = list(lines(Lint().check_files([path])))

    assert all(len(line) < 3 * LONGEST + len(str(path)) and line.isprintable() for line in message)


def test_the_document_has_every_kind(written: Written) -> None:
    """Found or not; numbers are numbers."""
    path = written("{", talk(turn("Find {stage}.", "opportunity_search")))

    found = json.loads(json.dumps(document(Lint().check_files([path]))))

    assert {kind.label for kind in FindingKind} == set(found["kinds"])
    assert {
        "invalid": True,
        "meaning": "the user's words contain a placeholder that is never filled",
        "turns": 1,
        "conversations": 1,
        "examples": [{"file": str(path), "line": 2, "case": "one", "turn": 1, "text": "{stage}"}],
    } == found["kinds"]["placeholder-in-utterance"]
    assert (SCHEMA, [str(path)], 2, 1, 2) == (
        found["schema"],
        found["files"],
        found["conversations"],
        found["turns"],
        found["invalid"],
    )


def test_progress_is_reported(written: Written) -> None:
    done: list[int] = []

    Lint().check_files([written(case("a"), "", "{", name="a"), written(case("b"), name="b")], done.append)

    assert [1, 2, 3] == done


def test_a_file_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"nope\.jsonl: No such file or directory; give the path"):
        Lint().check_files([tmp_path / "nope.jsonl"])


def test_a_file_without_conversations_is_a_mistake(written: Written) -> None:
    """Probably it is the wrong one."""
    with pytest.raises(DatasetError, match="the file has no conversation"):
        Lint().check_files([written("", "  ")])


def test_kinds_have_names_of_their_own() -> None:
    """An enum would take two with the same values for one."""
    labels = [kind.label for kind in FindingKind]

    assert len(labels) == len(set(labels)) == len(FindingKind.__members__)


@pytest.fixture(scope="module")
def published() -> Lint:
    """Return what is found in the published conversations."""
    if not PUBLISHED.exists():
        pytest.skip(f"{PUBLISHED} is not here")
    return Lint().check_files([PUBLISHED])


def test_findings_in_the_published_conversations_are_unchanged(published: Lint) -> None:
    """Turns and conversations, each counted a second time with regular expressions on the raw lines."""
    counts = {kind.label: (len(count.turns), len(count.lines)) for kind, count in published.counts.items()}

    assert {
        "placeholder-in-utterance": (186, 120),
        "placeholder-in-arguments": (14, 14),
        "leaked-value": (160, 129),
        "unsaid-value": (7, 7),
        "reference-in-utterance": (159, 107),
        "same-utterance": (270, 119),
        "contradicted-filter": (46, 46),
        "bare-search": (53, 53),
        "unsaid-filter": (46, 46),
        "stale-timestamp": (617, 165),
        "foreign-id": (189, 99),
        "unresolved-response": (22, 16),
        "null-name": (51, 40),
        "unlisted-reference": (227, 130),
        "label-not-level": (0, 6),
        "aliased-argument": (7, 7),
        "no-op": (15, 15),
        "tool-name-said": (2, 2),
        "nothing-to-find": (4, 4),
        "wrong-category": (0, 86),
        "general-category": (0, 88),
    } == {label: count for label, count in counts.items() if any(count)}


def test_similarity_of_the_published_conversations_is_unchanged(published: Lint) -> None:
    """The same."""
    assert (207, 780, 159, 127) == (
        published.conversations,
        published.turns,
        published.invalid,
        published.reproducible,
    )
    assert {
        "utterances": 57,
        "templates": 77,
        "conversation_shapes": 83,
        "tool_sequences": 73,
        "reads": 589,
        "read_share": 0.7551,
        "conversations_that_never_write": 47,
    } == published.diversity.to_dict()


def test_turn_without_a_call_is_not_an_unknown_tool(kinds: Kinds) -> None:
    assert {} == kinds(talk(turn("Book a flight.", "", EXPECT_SUCCESS=False), seed=ONE_CLIENT))


def test_further_calls_are_checked(kinds: Kinds) -> None:
    """Also those of a turn that is to be refused: they are to succeed."""
    more = [{"expected_tool": "fly"}, {"expected_tool": "list_clients", "expected_args": {"colour": "blue"}}]
    said = turn("List the clients that are blue.", "list_clients", FURTHER_CALLS=more)
    refused = turn("Fly.", "list_clients", EXPECT_SUCCESS=False, FURTHER_CALLS=more[1:])

    def check(call: ToolCall) -> str:
        return "no such argument" if call.arguments else ""

    assert {"unknown-tool": (1, 1), "refused-arguments": (2, 1)} == kinds(talk(said, refused), check=check)


def test_turns_that_only_read_are_counted(written: Written) -> None:
    """A turn that also writes does not only read; one that calls nothing does neither."""
    note = {
        "expected_tool": "add_note",
        "expected_args": {"entity_type": "Client", "entity_id": HARBOR, "content": "Hm"},
    }
    both = turn("Find Harbor, and note: Hm.", "client_search", name="Harbor", FURTHER_CALLS=[note])
    path = written(
        talk(turn("Find Harbor.", "client_search", name="Harbor"), both, turn("Fly.", "", EXPECT_SUCCESS=False))
    )

    found = Lint().check_files([path]).diversity

    assert (1, 0) == (found.reads, found.never_writing)
