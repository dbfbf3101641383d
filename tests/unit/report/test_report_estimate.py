"""The estimated usage, cost and time of a run."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.journal.history import PastTrial
from pytest_crmeval.models.caps import Cap
from pytest_crmeval.render.estimate import lines
from pytest_crmeval.report.estimate import Estimate, Forecast, Judging, Pricing, estimate
from pytest_crmeval.report.loads import CaseSize, Throughput, UsageEstimate
from pytest_crmeval.report.role_costs import LearnerRoles
from tests.fakes import planned

GPT, CLAUDE = "openai:gpt-4.1", "anthropic:claude-sonnet-4-5"
TWO = Throughput(at_once=2)
JUDGE = "openai:judge"


def case(name: str, spec: str = GPT, subject: str = "gpt", suite: str = "crm") -> PlannedCase:
    """Return a case for a model."""
    return replace(planned(name, subject=subject, suite=suite), spec=spec)


def played(name: str, spec: str = GPT, *, turns: int = 2, calls: int = 4, seconds: float | None = 8.0) -> PastTrial:
    """Return the usage of an earlier trial: 1,000 input tokens per call, half of them cached, and 100 output tokens."""
    usage = Usage(input=1_000 * calls, cached=500 * calls, output=100 * calls, calls=calls, retries=1)
    return PastTrial(case=("crm", name, "f00d"), spec=spec, turns=turns, usage=usage, seconds=seconds)


def dollar_per_call(usage: Usage) -> float | None:
    """Charge per call, and nothing for a long one."""
    return 1.0 if usage.input < 200_000 else 0.0


def no_price(_usage: Usage) -> float | None:
    """Charge an unknown amount."""
    return None


def price(spec: str) -> Pricing | None:
    """Charge for models of openai, not for the oracle; other prices are unknown."""
    if ":" not in spec:
        return None
    return dollar_per_call if spec.startswith("openai") else no_price


def estimated(
    cases: Sequence[PlannedCase],
    *history: PastTrial,
    turns: int = 3,
    pace: Throughput = TWO,
    judge: Judging | None = None,
) -> Estimate:
    """Return the estimate of cases with this number of turns."""
    sizes = {each.key: CaseSize(turns=turns, characters=400) for each in cases}
    return estimate(cases, history, sizes, price, overhead=4_000, pace=pace, judge=judge)


def forecast(cases: Sequence[PlannedCase], *history: PastTrial, turns: int = 3) -> Forecast:
    """Return the estimate of one subject."""
    (found,) = estimated(cases, *history, turns=turns).forecasts
    return found


def test_case_that_was_played_is_estimated_from_its_newest_trial() -> None:
    """Its retries are not expected to happen again."""
    found = forecast([case("one")], played("one", calls=4), played("one", calls=9))

    assert Usage(input=4_000, cached=2_000, output=400, calls=4) == found.load.usage
    assert (8.0, 4.0, {"played": 1}) == (found.load.seconds, found.cost, found.grounds)


def test_new_case_is_estimated_from_other_cases_of_its_model_by_turns() -> None:
    """Ten calls in four turns; three turns are to be played."""
    found = forecast([case("new")], played("one", calls=4, turns=1), played("two", calls=6, turns=3))

    assert Usage(input=7_500, cached=3_750, output=750, calls=8) == found.load.usage
    assert (7.5, 12.0, 7.5) == (found.load.calls, found.load.seconds, found.cost)
    assert {"alike": 1} == found.grounds


def test_changed_case_counts_as_new() -> None:
    assert {"alike": 1} == forecast([replace(case("one"), fingerprint="new")], played("one")).grounds


def test_fractions_of_calls_are_added_up() -> None:
    """Half a call in each of four cases is two calls."""
    found = forecast([case(name) for name in "abcd"], played("one", calls=5, turns=10), turns=1)

    assert 2 == found.load.usage.calls


def test_new_model_is_estimated_from_another_model_on_the_same_case() -> None:
    found = forecast([case("one", "openai:gpt-5")], played("two", CLAUDE, calls=9), played("one", calls=4))

    assert (4, {"lent": 1}, [GPT]) == (found.load.usage.calls, found.grounds, found.lenders)


def test_new_model_and_case_are_estimated_from_all_trials() -> None:
    """By turns."""
    found = forecast([case("new", "openai:gpt-5")], played("two", CLAUDE, calls=6), played("one", calls=2))

    assert (6, {"lent": 1}, [CLAUDE, GPT]) == (found.load.usage.calls, found.grounds, found.lenders)


def test_without_history_the_size_of_a_case_is_used() -> None:
    """Five calls for two turns: 1,000 prompt tokens for each, and what was said and added before."""
    found = forecast([case("one")], turns=2)

    expected = 5 * 1_000 + 100 * 3 + 250 * (1 + 2 + 3 + 4)
    assert Usage(input=expected, cached=4 * 1_000, output=400, calls=5) == found.load.usage
    assert (15.0, {"guessed": 1}) == (found.load.seconds, found.grounds)


@pytest.mark.parametrize(("spec", "written"), [(GPT, 0), (CLAUDE, 1_000)])
def test_guess_includes_the_cost_of_filling_a_cache(spec: str, written: int) -> None:
    """The first call of a case writes the prompt there, the others read it."""
    usage = forecast([case("one", spec)], turns=2).load.usage

    assert (4_000, written) == (usage.cached, usage.cache_written)


def test_each_call_of_a_longer_case_needs_more_tokens() -> None:
    short, long = (forecast([case("one")], turns=turns).load for turns in (2, 4))

    assert long.input > 2 * short.input


def test_price_is_that_of_an_average_call() -> None:
    """Prices have steps for long calls, and all tokens of a run are not one call."""
    assert 400.0 == forecast([case(str(n)) for n in range(100)], *[played(str(n)) for n in range(100)]).cost


def test_unknown_price_makes_the_cost_unknown() -> None:
    """Of the model, and of the total; calls and tokens are known."""
    found = estimated([case("one"), case("one", CLAUDE, "claude")], played("one"))

    assert [None, 4.0] == [each.cost for each in found.forecasts]
    assert found.cost is None
    assert [4, 4] == [each.load.usage.calls for each in found.forecasts]


def test_agent_without_a_model_uses_nothing() -> None:
    found = forecast([planned("one"), planned("two")], played("one"))

    assert (2, UsageEstimate(), 0.0, {}) == (found.cases, found.load, found.cost, found.grounds)


@pytest.mark.parametrize(("at_once", "seconds"), [(1, 16.0), (2, 8.0), (48, 8.0)])
def test_cases_in_flight_share_the_time(at_once: int, seconds: float) -> None:
    found = estimated([case("one"), case("two")], played("one"), played("two"), pace=Throughput(at_once=at_once))

    assert seconds == found.elapsed()


@pytest.mark.parametrize(
    ("rate", "seconds"),
    [
        ("openai:gpt-4.1 4rpm", 120.0),
        ("openai:* 1200tpm", 440.0),
        ("openai:* 4rpm 1200tpm", 440.0),
        ("* 600rpm 1000000tpm", 8.0),
        ("anthropic:* 1rpm", 8.0),
    ],
)
def test_rate_limit_prolongs_the_run(rate: str, seconds: float) -> None:
    """Eight calls of 1,100 tokens take as long as the limits of their model require, at least the time of the calls."""
    found = estimated(
        [case("one"), case("two")], played("one"), played("two"), pace=Throughput(at_once=2, caps=[Cap.parse(rate)])
    )

    assert seconds == found.elapsed()


def test_rate_limit_applies_to_the_judge_by_its_model() -> None:
    judge = Judging(name="strict", spec=f"{JUDGE}?temperature=0", samples=1, price=dollar_per_call)

    found = estimated([planned("one")], judge=judge, pace=Throughput(at_once=1, caps=[Cap.parse(f"{JUDGE} 1rpm")]))

    assert 60.0 == found.elapsed()


@pytest.mark.parametrize(("rate", "whole"), [("openai:* 4rpm", 60.0), ("openai:* 60rpm", 16.0), ("* 4rpm", 120.0)])
def test_subjects_without_a_rate_limit_run_meanwhile(rate: str, whole: float) -> None:
    """Subjects are played at the same time, and share a limit that names several of them."""
    cases = [case("one"), case("one", CLAUDE, "claude")]

    found = estimated(cases, played("one"), pace=Throughput(at_once=1, caps=[Cap.parse(rate)]))

    assert whole == found.elapsed()


def test_replay_needs_neither_money_nor_time() -> None:
    """Also of a model with a rate limit, or without a price."""
    pace = Throughput(at_once=1, caps=[Cap.parse("openai:* 1rpm")], replayed=True)

    found = estimated([case("one"), case("one", CLAUDE, "claude")], played("one"), pace=pace)

    assert (0.0, 0.0) == (found.cost, found.elapsed())
    assert "cost: none, because calls are replayed" in lines(found)


def test_replayed_trial_is_expected_to_take_the_usual_time_of_its_calls() -> None:
    """A cassette is faster than any model."""
    assert 12.0 == forecast([case("one")], played("one", calls=4, seconds=None)).load.seconds


def test_time_comes_from_the_newest_trial_that_was_not_replayed() -> None:
    """The tokens come from the newest trial."""
    history = (played("one", calls=2, seconds=None), played("one", calls=4, seconds=9.0), played("one", seconds=1.0))

    found = forecast([case("one")], *history)

    assert (2, 9.0) == (found.load.usage.calls, found.load.seconds)


def test_judged_trial_without_model_calls_counts_for_the_judge_only() -> None:
    judged = PastTrial(
        case=("crm", "one", "f00d"), spec="oracle", turns=2, seconds=0.1, judged=Usage(calls=3, input=600)
    )
    judge = Judging(name="judge", spec=JUDGE, samples=5, price=dollar_per_call)

    agent, opinions = estimated([case("one")], judged, judge=judge).forecasts

    assert ({"guessed": 1}, {"judged": 1}) == (agent.grounds, opinions.grounds)
    assert (5, 1_000) == (opinions.load.usage.calls, opinions.load.usage.input)


def test_judge_is_expected_to_see_every_trial() -> None:
    judged = replace(played("one"), judged=Usage(input=600, output=60, calls=3))
    judge = Judging(name="judge", spec=JUDGE, samples=5, price=dollar_per_call)

    *_, found = estimated([case("one"), planned("one")], judged, judge=judge).forecasts

    assert ("judge", "judge", 10.0, {"judged": 2}) == (found.suite, found.subject, found.cost, found.grounds)
    assert Usage(input=2_000, output=200, calls=10) == found.load.usage


def test_judge_without_history_is_guessed() -> None:
    judge = Judging(name="judge", spec=JUDGE, samples=1, price=dollar_per_call)

    *_, found = estimated([case("one")], played("one"), judge=judge).forecasts

    assert (1, {"unjudged": 1}) == (found.load.usage.calls, found.grounds)


def test_estimate_of_a_finished_run_is_zero() -> None:
    """Everything was done in an earlier part."""
    assert Estimate(forecasts=[], pace=Throughput(at_once=1)) == estimated([])
    assert "total: about 0 calls, 0 tokens in, 0 out, $0.00, 0 s" in lines(estimated([]))


def test_lines_of_an_estimate(snapshot: SnapshotAssertion) -> None:
    """A table, a total, and the basis of the estimate for each subject."""
    cases = [
        *(case(str(number)) for number in range(1_200)),
        *(case(str(number), CLAUDE, "claude") for number in range(1_200)),
        *(planned(str(number)) for number in range(1_200)),
    ]
    history = [played(str(number), calls=number % 7 + 1) for number in range(812)]
    judge = Judging(name="gpt-4.1-mini", spec="openai:gpt-4.1-mini", samples=3, price=dollar_per_call)

    assert snapshot == "\n".join(lines(estimated(cases, *history, pace=Throughput(at_once=48), judge=judge)))


def test_estimate_fits_the_width_of_a_terminal() -> None:
    found = estimated([case(name, subject="a-model-with-a-long-name") for name in ("one", "two")])
    narrow = list(lines(found, 60))
    assert max(map(len, narrow)) <= 60
    assert narrow[0].split() == ["suite", "subject", "cases", "calls", "cost", "time"]


def test_lines_of_a_guess_name_the_assumptions(snapshot: SnapshotAssertion) -> None:
    assert snapshot == "\n".join(lines(estimated([case("one")])))


QUESTION = CaseSize(turns=1, characters=400, asked_once=True, overhead=800, judged=False)


def asked(*history: PastTrial, judge: Judging | None = None, **changes: bool) -> Estimate:
    """Return the estimate of one question and one conversation of three turns."""
    cases = [case("q", suite="q"), case("c")]
    sizes = {cases[0].key: replace(QUESTION, **changes), cases[1].key: CaseSize(turns=3, characters=400)}
    return estimate(cases, history, sizes, price, overhead=4_000, pace=TWO, judge=judge)


def calls(found: Estimate) -> dict[str, int]:
    """Return the calls of each suite."""
    return {each.suite: each.load.usage.calls for each in found.forecasts}


def test_question_is_one_call_with_its_own_prompt() -> None:
    """Nothing of it is cached: 800 characters of prompt and 400 of question."""
    (_, question) = asked().forecasts

    assert ("q", 1, 300, 0) == (
        question.suite,
        *(getattr(question.load.usage, n) for n in ("calls", "input", "cached")),
    )


def test_questions_are_estimated_from_questions_and_turns_from_turns() -> None:
    turn, question = played("old", calls=4, turns=1), replace(played("other", calls=2, turns=1), is_question=True)

    assert {"crm": 12, "q": 2} == calls(asked(turn, question))
    assert {"crm": 12, "q": 1} == calls(asked(turn))


def test_judge_is_called_only_for_what_it_grades() -> None:
    judge = Judging(name="j", spec=JUDGE, samples=3, price=dollar_per_call)

    assert 3 == calls(asked(judge=judge))["judge"]
    assert 6 == calls(asked(judge=judge, judged=True))["judge"]


LEARNER = "atlas?student=openai:s&teacher=openai:t"
CAST = LearnerRoles(
    specs={
        "student": "openai:s",
        "teacher": "openai:t",
        "reward": "openai:s",
        "arbiter": CLAUDE,
        "learner": "openai:t",
    },
    samples=3,
    learns=True,
)


def taught(name: str, *, held_out: bool = False) -> PastTrial:
    """Return the usage of an earlier conversation of a learner."""
    calls = {"student": 4} if held_out else {"student": 4, "teacher": 2, "reward": 3, "learner": 1}
    roles = {role: Usage(input=1_000 * count, output=100 * count, calls=count) for role, count in calls.items()}
    found = replace(played(name, LEARNER), usage=roles["student"], roles=roles, held_out=held_out)
    return replace(found, learning_seconds=0.0 if held_out else 6.0)


def learning(*history: PastTrial, cast: LearnerRoles = CAST, names: Sequence[str] = ("one", "two", "held")) -> Estimate:
    """Return the estimate of two conversations of a learner, and of a third one that is held out."""
    cases = [case(name, LEARNER, "atlas") for name in names]
    sizes = {each.key: CaseSize(turns=2, characters=400, held_out=each.case == "held") for each in cases}
    return estimate(cases, history, sizes, price, overhead=4_000, pace=TWO, casts={LEARNER: cast})


def test_each_role_of_a_learner_is_guessed_separately() -> None:
    """Held-out cases need only the student; the numbers of opinions and of arbiter calls are assumed."""
    found = {each.role: each for each in learning().forecasts}

    assert {"student": 15, "teacher": 4, "reward": 6, "arbiter": 0.4, "learner": 2} == {
        role: each.load.calls for role, each in found.items()
    }
    assert {"student": 3, "teacher": 2, "reward": 2, "arbiter": 2, "learner": 2} == {
        role: each.cases for role, each in found.items()
    }
    assert (8_000, 6.0, None) == (found["teacher"].load.input, found["reward"].cost, found["arbiter"].cost)
    shown = list(lines(learning()))
    assert "unknown price: arbiter of atlas; " in "".join(shown)
    assert any(line.startswith("assumed: 1 review per turn") for line in shown)


def test_unused_roles_are_not_estimated() -> None:
    """Only held-out cases are left, and the student plays them alone."""
    assert ["student"] == [each.role for each in learning(names=["held"]).forecasts]


def test_learner_is_estimated_from_its_earlier_conversations() -> None:
    """Role by role; a new conversation is estimated from those that are not held out."""
    found = {each.role: each for each in learning(taught("one"), taught("held", held_out=True)).forecasts}

    assert {"student": 12, "teacher": 4, "reward": 6, "arbiter": 0, "learner": 2} == {
        role: each.load.usage.calls for role, each in found.items()
    }
    assert {"played": 1, "alike": 1} == found["learner"].grounds


def test_conversations_of_a_learner_are_played_one_after_the_other() -> None:
    """Two of 14 seconds each; the third is played at the same time as others, and so are those of other agents."""
    history = [taught("one"), taught("two"), taught("held", held_out=True)]

    assert 28.0 == learning(*history).elapsed()
    assert 12.0 == learning(*history, cast=replace(CAST, learns=False)).elapsed()


def test_usage_of_a_student_is_used_for_others_without_its_teacher() -> None:
    """The other model is not a learner."""
    assert 4 == forecast([case("one")], taught("one")).load.usage.calls


def of_file(name: str, subject: str) -> PlannedCase:
    """Return a solution file of a checkpoint."""
    return replace(planned(name, subject=subject, suite="code"), spec="checkpoint")


def judged_file(name: str, solutions: int, seconds: float) -> PastTrial:
    """Return how long a solution file took."""
    return PastTrial(case=("code", name, "f00d"), spec="checkpoint", turns=1, solutions=solutions, seconds=seconds)


def estimated_files(cases: Sequence[PlannedCase], *history: PastTrial, workers: int = 1) -> Estimate:
    """Return the estimate of files of ten solutions each."""
    sizes = {each.key: CaseSize(turns=1, characters=0, judged=False, solutions=10) for each in cases}
    pace = Throughput(at_once=8 * workers, workers=workers)
    return estimate(cases, history, sizes, lambda _: None, overhead=0, pace=pace)


def test_time_of_a_solution_file_comes_from_itself_or_from_the_time_per_solution() -> None:
    """From the same file, from others, or from a printed assumption; each worker runs one file at a time."""
    cases = [of_file("old", "checkpoint-1"), of_file("new", "checkpoint-1")]

    known = estimated_files(cases, judged_file("old", 4, 8.0))
    guessed = estimated_files(cases, workers=2)

    assert (28.0, 10.0) == (known.elapsed(), guessed.elapsed())
    assert {"file judged": 1, "files judged": 1} == known.forecasts[0].grounds
    assert "assumed: 1 s per solution" in list(lines(guessed))


def test_checkpoints_are_in_the_order_of_their_steps() -> None:
    """Step 900 comes before step 1000, and a subject without a step last."""
    names = ["checkpoint-1000", "checkpoint-900", "final"]

    assert ["checkpoint-900", "checkpoint-1000", "final"] == [
        forecast.subject for forecast in estimated_files([of_file("a", name) for name in names]).forecasts
    ]


def test_usage_at_another_address_is_not_used_for_the_model() -> None:
    """It is used like that of any other model; at the same address it counts as the model's own."""
    local = "http://127.0.0.1:8000/v1"
    elsewhere = played("one", f"{GPT}?base_url={local}")
    cases, sizes = [case("one")], {case("one").key: CaseSize(turns=1, characters=9)}

    (here,) = estimate(cases, [elsewhere], sizes, price, overhead=0, pace=TWO).forecasts
    (there,) = estimate(cases, [elsewhere], sizes, price, overhead=0, pace=TWO, addresses={"openai": local}).forecasts

    assert ({"lent": 1}, {"played": 1}) == (here.grounds, there.grounds)
