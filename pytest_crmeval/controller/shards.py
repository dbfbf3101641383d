"""Whether a run of shards may go on: only as the same part of the same whole."""

from collections.abc import Mapping, Sequence

from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.journal.shard import Shard, is_merged, listed, missing_shards, shard_of


def other_shard(parts: Sequence[JsonObject], now: Shard | None, dealt: JsonObject) -> str:
    """Return why a run can't go on as the shard ``now``; nothing if it can."""
    if not parts:
        return ""
    if is_merged(parts):
        return _other_than_merged(parts, now)
    for part in parts:
        before = shard_of(part)
        if before != now:
            return f"was begun {_told(before)}, and can't go on {_told(now)}: {_choose(before)}"
        if before and (test := _dealt_otherwise(part.get("shard"), dealt)):
            return (
                f"was begun as shard {before} of other cases of {test}: choose them as before (tags, split, sample, "
                "crmeval_durations)"
            )
    return ""


def _other_than_merged(parts: Sequence[JsonObject], now: Shard | None) -> str:
    """Return why a run that was put together can't go on."""
    missing = missing_shards(parts)
    if now:
        return f"was merged, and can't go on as shard {now}: leave --crmeval-shard out"
    if missing:
        return f"was merged without the shards {listed(missing)}: merge them, too"
    return ""


def _dealt_otherwise(before: Json, now: JsonObject) -> str:
    """Return a test whose cases were split over the shards in another way before; empty if there is none."""
    earlier, later = _tests(before), _tests(now)
    return next((test for test in later if test in earlier and earlier[test] != later[test]), "")


def _tests(dealt: Json) -> dict[str, Json]:
    """Return how the cases of each test were dealt."""
    tests = dealt.get("tests") if isinstance(dealt, Mapping) else None
    found = tests if isinstance(tests, Mapping) else {}
    return {test: about.get("deal") for test, about in found.items() if isinstance(about, Mapping)}


def _told(shard: Shard | None) -> str:
    return f"as shard {shard}" if shard else "without shards"


def _choose(shard: Shard | None) -> str:
    return f"add --crmeval-shard {shard}" if shard else "leave --crmeval-shard out"
