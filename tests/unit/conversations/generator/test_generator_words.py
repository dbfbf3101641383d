"""The words of the generator: enough of them, each once, and none that means something to the CRM."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from itertools import chain, permutations

import pytest

from pytest_crmeval.conversations.crm.tools.value_types import EXTENSIONS
from pytest_crmeval.conversations.generator.vocabulary import (
    City,
    Industry,
    Region,
    branches,
    contact_notes,
    deal_notes,
    files,
    industries,
    notes,
    outside_companies,
    outside_requests,
    owners,
    people,
    places,
    titles,
)


def words_of(text: str) -> set[str]:
    """Return the words of a text in small letters."""
    return set(re.findall(r"[^\W_]+", text.casefold()))


WORDS = resources.files("pytest_crmeval.conversations.generator") / "words"
THEMES = ("call", "pricing", "legal", "delivery", "people", "competition", "support", "internal")
KINDS = ("Opportunity", "Contract", "Quote", "Client")
STAGES = words_of("prospecting qualification proposal negotiation closed won lost")
STATUSES = words_of("draft sent approved rejected canceled active inactive pending expired prospect")
RECORDS = words_of("quote contract note clone deal opportunity client contact document company")
MONTHS = words_of("January February March April May June July August September October November December")
DAYS = words_of("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
SHORT_DATES = words_of("Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Wed Thu Fri Sat Sun")
NUMBERS = words_of("zero one two three four five six seven eight nine ten eleven twelve hundred thousand")
CONFUSING = {"no", "not", "all", "none", "new"} | STAGES | STATUSES | RECORDS | MONTHS | DAYS | SHORT_DATES | NUMBERS
IMPERATIVES = words_of("add call create delete find give ignore list make open please remove search send set show tell")
NOBODY_HAS = re.compile(
    r"\+1 \d{3} 555 01"
    r"|\+353 20 91"
    r"|\+33 (1 99 00|2 61 91|3 53 01|4 65 71)"
    r"|\+44 (1632 960|20 7946 0|113 496 0|131 496 0|29 2018 0|28 9649 6)"
    r"|\+46 (8 465 004|31 390 06|40 628 04)"
    r"|\+49 (30 23125|40 66969|221 4710|89 99998)"
    r"|\+61 \d 7010"
    r"|\+\d+( \d+)? 0"
)
"""Numbers set aside for fiction; elsewhere no subscriber's number starts with 0."""


def twice(texts: Iterable[str]) -> list[str]:
    """Return what is in a list more than once, whatever its capitals."""
    return [text for text, times in Counter(map(str.casefold, texts)).items() if times > 1]


def nested(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of which the one is part of the other."""
    return [pair for pair in permutations(map(str.casefold, texts), 2) if pair[0] in pair[1]]


def continued(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of which the one is how the other begins."""
    return [pair for pair in permutations(map(str.casefold, texts), 2) if pair[1].startswith(pair[0])]


def named(one: Region | Industry | City | str) -> str:
    """Return what a case of a test is called."""
    return one if isinstance(one, str) else getattr(one, "name", "") or getattr(one, "city", "")


def all_cores() -> list[str]:
    """Return the cores of clients and of other companies."""
    return [*chain.from_iterable(industry.cores for industry in industries()), *outside_companies().cores]


def all_deals() -> list[str]:
    """Return the deals of all industries."""
    return list(chain.from_iterable(industry.deals for industry in industries()))


def all_notes() -> list[str]:
    """Return the notes of all themes."""
    return list(chain.from_iterable(map(notes, THEMES)))


def last_names() -> set[str]:
    """Return the last names of contacts."""
    return {name.casefold() for region in people() for name in region.last}


@pytest.mark.parametrize("name", ["people", "companies", "deals", "titles", "notes", "places", "files", "outside"])
def test_a_file_of_words_is_in_normal_form(name: str) -> None:
    """One letter has one spelling: an accent that is composed here and combined there finds nothing."""
    text = (WORDS / f"{name}.toml").read_text(encoding="utf-8")

    assert unicodedata.normalize("NFC", text) == text


@pytest.mark.parametrize(
    ("least", "listed"),
    [
        (22, people),
        (22, industries),
        (20, branches),
        (60, titles),
        (200, all_notes),
        (40, contact_notes),
        (40, deal_notes),
        (90, places),
        (60, outside_requests),
    ],
)
def test_word_lists_are_long_enough(least: int, listed: Callable[[], Sequence[object]]) -> None:
    assert least <= len(listed())


@pytest.mark.parametrize(
    "listed",
    [all_cores, all_deals, all_notes, branches, contact_notes, deal_notes, outside_requests, owners, titles],
)
def test_word_lists_have_no_duplicates(listed: Callable[[], Sequence[str]]) -> None:
    assert [] == twice(listed())


def test_a_region_has_names_for_a_whole_office() -> None:
    """Eight to fourteen first names of each sex, twelve to eighteen last names."""
    for region in people():
        assert 8 <= len(region.first_f) <= 14, region
        assert 8 <= len(region.first_m) <= 14, region
        assert 12 <= len(region.last) <= 18, region


def test_a_name_is_a_name() -> None:
    """It is there once, has a capital and three letters, and is no month, number or stage."""
    for region in people():
        names = [*region.first_f, *region.first_m, *region.last]

        assert [] == twice(names), region
        assert [] == [name for name in names if name == name.lower() or sum(map(str.isalpha, name)) < 3], region
        assert [] == [name for name in names if words_of(name) & CONFUSING], region
        assert [] == [name for name in names if not re.fullmatch(r"[^\W\d_][\w\u0300-\u036f\u02bb '-]*", name)], region


@pytest.mark.parametrize("name", ["Smith", "Garcia", "Kim", "Lee", "Khan", "Müller"])
def test_some_last_names_occur_in_several_regions(name: str) -> None:
    """Three Smiths in one CRM are worth searching for."""
    assert 2 <= sum(name in region.last for region in people())


def test_an_industry_has_clients_and_deals() -> None:
    """Twenty to thirty cores, six to ten tails, fourteen to twenty deals."""
    for industry in industries():
        assert 20 <= len(industry.cores) <= 30, industry
        assert 6 <= len(industry.tails) <= 10, industry
        assert 14 <= len(industry.deals) <= 20, industry


def test_industries_have_distinct_names() -> None:
    """A filter by the one industry does not find the other."""
    assert [] == nested([industry.name for industry in industries()])


def test_no_core_is_part_of_another() -> None:
    """Who says the core of a name means one company."""
    assert [] == nested(all_cores())


def test_cores_begin_with_different_words() -> None:
    """Who says Harbor means Harbor Light."""
    assert [] == twice(core.split()[0] for core in all_cores())


def test_a_core_is_a_plain_name_that_means_nothing_else() -> None:
    assert [] == [core for core in all_cores() if not re.fullmatch(r"[^\W\d_]{4,}( [^\W\d_]+)*", core)]
    assert [] == [core for core in all_cores() if core.split() != [word.capitalize() for word in core.split()]]
    assert [] == [core for core in all_cores() if words_of(core) & CONFUSING]
    assert [] == [core for core in all_cores() if core.split()[0].casefold() in last_names()]


def test_no_tail_and_no_branch_is_how_another_begins() -> None:
    """Look-alikes are two names, not a name and a part of it."""
    lists = [*(industry.tails for industry in industries()), outside_companies().tails, branches()]

    assert [] == list(chain.from_iterable(map(continued, lists)))


def test_a_tail_is_letters_and_rarely_an_ampersand() -> None:
    """Most tails are letters and spaces; one in twenty may say "& Sons"."""
    tails = [*chain.from_iterable(industry.tails for industry in industries()), *outside_companies().tails]

    assert [] == [tail for tail in tails if not re.fullmatch(r"[A-Za-z &]+", tail)]
    assert [] == [tail for tail in tails if words_of(tail) & CONFUSING]
    assert len(tails) >= 20 * sum("&" in tail for tail in tails)


def test_names_of_other_companies_are_sufficient() -> None:
    """Partners, vendors and competitors: forty cores, eight tails."""
    assert 40 <= len(outside_companies().cores)
    assert 8 <= len(outside_companies().tails)


def test_no_deal_is_part_of_another() -> None:
    """Who says the name of a deal means one deal."""
    assert [] == nested(all_deals())


def test_a_deal_is_called_as_salespeople_call_it() -> None:
    """Two to five words, the first with a capital, without digits."""
    assert [] == [deal for deal in all_deals() if not 2 <= len(deal.split()) <= 5]
    assert [] == [deal for deal in all_deals() if deal != deal.capitalize()]
    assert [] == [deal for deal in all_deals() if not re.fullmatch(r"[A-Za-z -]+", deal)]


def test_no_deal_has_a_word_of_the_crm_in_its_name() -> None:
    """Not even as part of a word: a search for "won" must not find a deal by its name."""
    forbidden = STAGES | STATUSES | RECORDS

    assert [] == [deal for deal in all_deals() if any(word in deal.casefold() for word in forbidden)]


def test_forty_salespeople_have_distinct_last_names() -> None:
    """No two of them share a last name, and no contact has one of theirs."""
    lasts = [owner.split(maxsplit=1)[1] for owner in owners()]

    assert 40 == len(lasts)
    assert [] == twice(lasts)
    assert [] == [last for last in lasts if last.casefold() in last_names()]


def test_a_note_is_one_sentence() -> None:
    """Five to sixteen words and a full stop."""
    assert [] == [note for note in all_notes() if not 5 <= len(note.split()) <= 16]
    assert [] == [note for note in all_notes() if not re.fullmatch(r"[A-Z][A-Za-z ,'-]+\.", note)]


def test_every_theme_has_notes() -> None:
    assert [] == [theme for theme in THEMES if len(notes(theme)) < 25]


@pytest.mark.parametrize("listed", [contact_notes, deal_notes])
def test_a_remark_is_short(listed: Callable[[], Sequence[str]]) -> None:
    """Three to ten words and a full stop."""
    assert [] == [remark for remark in listed() if not 3 <= len(remark.split()) <= 10]
    assert [] == [remark for remark in listed() if not re.fullmatch(r"[A-Z][A-Za-z ,'-]+\.", remark)]


@pytest.mark.parametrize("listed", [all_notes, contact_notes, deal_notes])
def test_notes_have_no_numbers_and_no_dates(listed: Callable[[], Sequence[str]]) -> None:
    """What a note says is no source of a value; it may say "may"."""
    dated = (NUMBERS | MONTHS | DAYS) - {"may"}

    assert [] == [note for note in listed() if words_of(note) & dated]


@pytest.mark.parametrize("listed", [all_notes, contact_notes, deal_notes])
def test_a_note_asks_for_nothing(listed: Callable[[], Sequence[str]]) -> None:
    """An agent that reads a note must not take it for an order."""
    orders = [note for note in listed() if note.split()[0].casefold() in IMPERATIVES]

    assert [] == [note for note in orders if not re.match(r"Call (was|ended|back from)", note)]


@pytest.mark.parametrize("listed", [all_notes, contact_notes, deal_notes])
def test_note_has_no_names(listed: Callable[[], Sequence[str]]) -> None:
    """A capital is only at the beginning, or that of a language."""
    capitals = [word for note in listed() for word in re.findall(r"(?<= )[A-Z]\w*", note)]

    assert {"English", "French"} >= set(capitals)


def test_regions_and_cities_are_listed_once() -> None:
    """One name, one entry."""
    assert [] == twice(region.name for region in people())
    assert [] == twice(place.city for place in places())


def test_a_place_has_streets_with_house_numbers() -> None:
    """Three or more of them, each with one number."""
    for place in places():
        assert 3 <= len(set(place.streets)), place
        assert {1} == {street.count("#") for street in place.streets}, place
        assert [] == [street for street in place.streets if re.search(r"\d", street)], place


def test_an_address_is_written_as_in_its_country() -> None:
    """The number of the house is where the street has it."""
    galway = next(place for place in places() if place.city == "Galway")
    hamburg = next(place for place in places() if place.city == "Hamburg")

    assert "14 Quay Street, Galway" == galway.address(galway.streets[0], 14)
    assert "Deichstraße 7, Hamburg" == hamburg.address(hamburg.streets[0], 7)


def test_a_phone_number_is_nobodys() -> None:
    """It is one of those set aside for fiction, and has two free digits or more."""
    for place in places():
        assert NOBODY_HAS.match(place.phone), place
        assert re.fullmatch(r"\+[0-9]+( [0-9x]+)+", place.phone), place
        assert 2 <= place.phone.count("x"), place


def test_a_country_has_one_prefix() -> None:
    """A city's own number starts like that of its country."""
    prefixes = {(place.country, place.phone.split()[0]) for place in places()}

    assert [] == twice(country for country, _ in prefixes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_name_is_one_that_the_crm_takes(kind: str) -> None:
    """Stems of letters, digits, dots, dashes and underscores; extensions that the CRM knows."""
    names = files(kind)

    assert 25 <= len(names.stems)
    assert [] == twice(names.stems)
    assert [] == [stem for stem in names.stems if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]", stem)]
    assert [] == [stem for stem in names.stems if stem.rpartition(".")[2].casefold() in EXTENSIONS]
    assert set(EXTENSIONS) >= set(names.extensions)
    assert len(set(names.extensions)) == len(names.extensions) >= 3


def test_every_extension_is_of_some_use() -> None:
    """Each that the CRM takes is that of some kind of document."""
    assert set(EXTENSIONS) == {extension for kind in KINDS for extension in files(kind).extensions}


def test_a_request_from_outside_is_not_about_records() -> None:
    """It has no placeholder, and none of the CRM's own words; our own company is no record."""
    records = {*RECORDS, *(f"{word}s" for word in RECORDS)} - {"company"}

    assert [] == [request for request in outside_requests() if re.search(r'[{}<>"\[\]]', request)]
    assert [] == [request for request in outside_requests() if not 4 <= len(request.split()) <= 16]
    assert [] == [request for request in outside_requests() if words_of(request) & records]
