"""Keys and passwords are redacted from everything that is stored or shown."""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.redaction import Redactor, secrets_in

CANARY = 'p@ss/w"ör d\\1?'
NOBODY = Redactor()


def base64_of(text: str) -> str:
    """Return text in the encoding of headers."""
    return b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "spelled",
    [
        pytest.param(str, id="as it is"),
        pytest.param(quote, id="in a path"),
        pytest.param(lambda secret: quote(secret, safe=""), id="in an address"),
        pytest.param(quote_plus, id="in a form"),
        pytest.param(json.dumps, id="in JSON"),
        pytest.param(lambda secret: json.dumps(secret, ensure_ascii=False), id="in readable JSON"),
        pytest.param(repr, id="in Python"),
        pytest.param(base64_of, id="in base64"),
        pytest.param(lambda secret: f"Basic {base64_of('me:' + secret)}", id="with a name"),
        pytest.param(lambda secret: f"Basic {base64_of('you:' + secret)}", id="with a longer name"),
        pytest.param(lambda secret: f"Bearer {base64_of('ours:' + secret + ':x')}", id="in the middle"),
        pytest.param(lambda secret: urlsafe_b64encode(secret.encode()).decode(), id="in base64 for addresses"),
    ],
)
def test_known_secret_is_found_in_every_form(spelled: Callable[[str], str]) -> None:
    text = spelled(CANARY)

    clean = Redactor([CANARY]).text(f"before {text} after")

    assert clean.startswith("before ")
    assert clean.endswith(" after")
    assert "[redacted]" in clean
    assert text.strip("\"'").split()[-1] not in clean


def test_longest_secret_is_redacted_first() -> None:
    assert "[redacted]" == Redactor(["secret1", "secret1-and-more"]).text("secret1-and-more")


@pytest.mark.parametrize("secret", ["", "a", "12345"])
def test_short_secret_is_not_redacted(secret: str) -> None:
    """It occurs in ordinary words."""
    assert "a 12345" == Redactor([secret]).text("a 12345")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("the key sk-abcdefghij0123456789.", "the key [redacted]."),
        ('{"key":"sk-ant-api03-abc_DEF-ghi"}', '{"key":"[redacted]"}'),
        ("sk-proj-AAAAAAAAAAAA", "[redacted]"),
        (r"lines\nsk-ant-abcdefgh\nof repr", r"lines\n[redacted]\nof repr"),
        ("Incorrect API key provided: sk-proj-********abcd.", "Incorrect API key provided: [redacted]."),
        ("sk-lf-0a1b2c3d-1a2b-3c4d-5e6f-0a1b2c3d4e5f", "[redacted]"),
        ("Bearer q7Rk2LmZ81xTpW04bNcY", "Bearer [redacted]"),
        ("bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.x1Y2z3A4b5", "bearer [redacted]"),
        ("Basic dXNlcjpwYXNzd29yZA==", "Basic [redacted]"),
        ("Basic YWRhOnh5eg", "Basic [redacted]"),
        ("Authorization: Bearer xyz1", "Authorization: Bearer [redacted]"),
        ("Authorization: Bearer abc123def.", "Authorization: Bearer [redacted]"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted]"),
        ("Authorization: 0a1b2c3d4e5f6a7b8c9d", "Authorization: [redacted]"),
        (r"{\"Authorization\": \"Bearer xyz\"}", r"{\"Authorization\": \"Bearer [redacted]\"}"),
        ("Headers([('authorization', 'Bearer xyz')])", "Headers([('authorization', 'Bearer [redacted]')])"),
        ("(b'authorization', b'Bearer xyz')", "(b'authorization', b'Bearer [redacted]')"),
        ("{'Authorization': 'q7Rk2LmZ81xTpW04bNcY'}", "{'Authorization': '[redacted]'}"),
        ("curl -H 'Authorization: Bearer xyz1' -v", "curl -H 'Authorization: Bearer [redacted]' -v"),
        ("x-api-key: xyz\r\n", "x-api-key: [redacted]\r\n"),
        ("X-Api-Key:abcdef1", "X-Api-Key:[redacted]"),
        ("Client(api_key='xyz', timeout=3)", "Client(api_key='[redacted]', timeout=3)"),
        ('{"api_key": "xyzzy", "model": "m"}', '{"api_key": "[redacted]", "model": "m"}'),
        ("https://host/v1?api_key=xyz&page=1", "https://host/v1?api_key=[redacted]&page=1"),
        ("OPENAI_API_KEY=xyz12 pytest", "OPENAI_API_KEY=[redacted] pytest"),
        ('export OPENAI_API_KEY="xyz12"', 'export OPENAI_API_KEY="[redacted]"'),
        ("serve --api-key xyz1 --port 80", "serve --api-key [redacted] --port 80"),
        ("POST http://usr:hunter@127.0.0.1:8/v1", "POST http://usr:[redacted]@127.0.0.1:8/v1"),
        ("postgresql://:p@ss@[::1]:5432/db", "postgresql://:[redacted]@[::1]:5432/db"),
    ],
)
def test_text_that_looks_like_a_key_is_redacted(text: str, clean: str) -> None:
    assert clean == NOBODY.text(text)
    assert clean == NOBODY.text(clean)


AWS, GITHUB = "AKIAIOSFODNN7EXAMPLE", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN {0}PRIVATE KEY-----\n{1}\n{1}\nqS8=\n-----END {0}PRIVATE KEY-----"
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
KEYS = [
    AWS,
    "ASIAIOSFODNN7EXAMPLE",
    GITHUB,
    GITHUB.replace("ghp_", "gho_"),
    GITHUB.replace("ghp_", "ghu_"),
    GITHUB.replace("ghp_", "ghs_"),
    "github_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789AbCdEfGhIjKlMnOpQrStUvWxYz0123",
    "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH",
    "AIzaSyA1b2C3d4E5f6-7h8I9j0K1l2_3n4O5p6Q",
    "xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx",
    "xoxe.xoxp-1-Mi0yLTEyMzQ1Njc4OTAxMg",
    "glpat-a1B2c3-D4e5F6_g7H8i",
    "gsk_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789aBcDeFgHiJkLmNoP",
    JWT,
    PEM.format("", BODY),
    PEM.format("RSA ", BODY),
    PEM.format("EC ", "MHQCAQEEIB"),
    PEM.format("OPENSSH ", BODY),
]


@pytest.mark.parametrize("redactor", [NOBODY, NOBODY.careful()], ids=["everywhere", "in cassettes"])
@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:20])
@pytest.mark.parametrize(
    "spelled",
    [
        "the key {}.",
        '{{"note": "{}"}}',
        "first\n{}\nlast",
        "https://host/?a={}&b=1",
        "%0A{}",
    ],
)
def test_key_is_recognised_by_its_format(redactor: Redactor, key: str, spelled: str) -> None:
    """Also in cassettes, which are meant to be committed."""
    assert spelled.format("[redacted]") == redactor.text(spelled.format(key))


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:20])
def test_key_in_json_is_recognised_by_its_format(key: str) -> None:
    """JSON has escapes before and within the key."""
    value: Json = {"note": f"first\n{key}\nlast", "rows": [f"\t{key}"]}

    assert {"note": "first\n[redacted]\nlast", "rows": ["\t[redacted]"]} == NOBODY.careful().json(value)


@pytest.mark.parametrize("before", ["", "E       ", "E       - ", "> ", "    "])
def test_private_key_without_an_end_is_recognised(before: str) -> None:
    """A model ran out of tokens, or the text was cut off; the words after it are kept."""
    lines = [line for line in PEM.format("", BODY).splitlines() if "END" not in line]
    text = "\n".join(before + line for line in lines[:-1])

    assert f"{before}[redacted]\nand words" == NOBODY.text(f"{text}\nand words")
    assert f"{before}[redacted]" == NOBODY.text(f"{text}\n{before}{lines[-1]}")


def test_text_with_many_key_prefixes_is_redacted_in_linear_time() -> None:
    text = "-----BEGIN PRIVATE KEY-----\n" * 20_000

    assert "PRIVATE" not in NOBODY.text(text)


@pytest.mark.parametrize(
    "text",
    [
        "risk-assessment-2026",
        "Slovakia and ASIA, SLOVAKIA12345678901234567890, EURASIA-PACIFIC",
        "hf_hub_download, hf_transformersconfigurationclass, msgsk_",
        "the header -----BEGIN CERTIFICATE-----, a PRIVATE KEY in a safe",
        "eyJ is how it begins, xoxo, xoxo-with-love-from-all-of-us, glpat-, AIza",
        "Donaudampfschifffahrtsgesellschaftskapitaen",
        "task-1234567890123456",
        "desk-ABCDEFGHIJKLMNOP1234",
        "ada@example.com",
        "320850ba-e717-4603-8fc8-7411aaafd8d3",
        "the bearer of this letter",
        "Bearer certificates, bearer bonds",
        "the bearer Meyer-2025 signs",
        "Bearer Share Certificates-2026-Series-B",
        "the bearer 320850ba-e717-4603-8fc8-7411aaafd8d3",
        "Bearer AB12-CD34-EF56-GH78-IJ90",
        "Basic plan 2026, Basic Subscription, Basic 12-month plan",
        "Basic PowerPoint Ltd, Basic SalesForce licence, Basic PowerPoint2025Edition",
        "Basic Office365BusinessPremium, Basic ISO27001-2022-certification",
        "the basic ERP-to-CRM-migration-2026-phase-2",
        "Basic DE89370400440532013000",
        "authorization: pending",
        "Authorization: signed by the CFO, PO-2026-0012",
        "Authorization: PO-2025-000123456789-XYZ",
        "Authorization: Basic PowerPoint training, Bearer Meyer-2025",
        "Authorization: Bearer of this letter, token received",
        '{"authorization": "approved", "by": "PO-2025-000123456789-XYZ"}',
        "the article sk-blue-widget-large-2026, sk-subscription2026",
        "order sk-1234567890123456",
        "OPENAI_API_KEY: not set",
        "it needs OPENAI_API_KEY, or a line OPENAI_API_KEY=... in .env",
        "Client(api_key=None)",
        "curl -H 'x-api-key: $KEY'",
        "the API key: ask your admin",
        "openai:gpt-4.1?key=MY_KEY",
        "http://host:8080/@ada, https://ada@host/, see http://host:80 or mail ada@host",
        "half \ud83d",
    ],
)
def test_ordinary_text_is_not_redacted(text: str) -> None:
    assert text is NOBODY.text(text)


def test_bundled_conversations_are_not_redacted() -> None:
    """Including the rows that their CRM starts with."""
    path = Path(__file__).parents[3] / "evals/data/crm.jsonl"
    text = path.read_text(encoding="utf-8")

    assert text is NOBODY.text(text)


@pytest.mark.parametrize(
    "text",
    [
        "x-api-key: xyz",
        "x-api-key: PO-2026-000012",
        'api_key="premium-plan-for-customers-2026"',
        "Authorization: Bearer xyz1",
        "Authorization: Bearer Meyer-2025, the bearer of good news",
        "Authorization: Basic PowerPoint training, a basic plan",
        '{"api_key": "premium-plan-2026", "authorization": "PO-2025-000123456789-XYZ"}',
    ],
)
def test_careful_redaction_keeps_what_is_not_a_known_key(text: str) -> None:
    """A conversation may be about anything."""
    assert text is Redactor([CANARY]).careful().text(text)


@pytest.mark.parametrize(
    ("kept", "secret", "rest"),
    [
        ("", CANARY, ""),
        ("", base64_of(f"me:{CANARY}"), ""),
        ("", "sk-proj-AAAAAAAAAAAA", ""),
        ("", "sk-abcdefghij0123456789", ""),
        ("Bearer ", "q7Rk2LmZ81xTpW04bNcY", ""),
        ("Authorization: Bearer ", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.x1Y2z3A4b5", ""),
        ("Authorization: ", "q7Rk2LmZ81xTpW04bNcY", ""),
        ("Basic ", base64_of("user:password"), ""),
        ('api_key="', "AKx91kd72hs8812jjs", '"'),
        ("x-api-key: ", "zq81-kkw0-99xy-aab2", ""),
        ("https://ada:", "hunter", "@host/"),
    ],
)
def test_careful_redaction_finds_what_can_only_be_a_secret(kept: str, secret: str, rest: str) -> None:
    """Known secrets, keys with a vendor's prefix, and labelled values that look like one."""
    assert f"a {kept}[redacted]{rest} b" == Redactor([CANARY]).careful().text(f"a {kept}{secret}{rest} b")


def test_json_without_a_secret_is_returned_itself() -> None:
    value: Json = {"rows": [{"name": "Zoë", "rate": 0.5}], "note": None}

    assert value is Redactor([CANARY]).json(value)


def test_secrets_are_redacted_in_json_at_any_depth() -> None:
    """Keys included; values other than text don't change."""
    value: Json = {"rows": [{"note": f"it is {CANARY}", "count": 2}, [True, None]], CANARY: 1}

    clean = Redactor([CANARY]).json(value)

    assert {"rows": [{"note": "it is [redacted]", "count": 2}, [True, None]], "[redacted]": 1} == clean


def test_field_with_the_name_of_a_secret_is_redacted() -> None:
    value: Json = {"api_key": "xyz", "Authorization": "Bearer xyz", "name": "Ada"}

    assert {"api_key": "[redacted]", "Authorization": "[redacted]", "name": "Ada"} == NOBODY.json(value)
    assert value is NOBODY.careful().json(value)


def test_careful_redaction_looks_at_the_value_of_such_a_field() -> None:
    """It may be the argument of a tool."""
    value: Json = {"api_key": "AKx91kd72hs8812jjs", "Authorization": "q7Rk2LmZ81xTpW04bNcY", "name": "Ada"}

    assert {"api_key": "[redacted]", "Authorization": "[redacted]", "name": "Ada"} == NOBODY.careful().json(value)


def test_record_without_a_secret_is_returned_itself() -> None:
    """It is checked once, as a whole."""
    record: Json = {"case": "harbor", "reason": "it said nothing", "bill": {"cost": 0.25}}
    assert isinstance(record, dict)

    assert record is Redactor([CANARY]).fields(record, {"case"})


def test_excluded_fields_are_not_redacted() -> None:
    """The user wrote them; the others are."""
    record = {"case": CANARY, "reason": f"it said {CANARY}"}

    assert {"case": CANARY, "reason": "it said [redacted]"} == Redactor([CANARY]).fields(record, {"case"})


def test_only_the_field_that_is_nested_too_deeply_is_removed() -> None:
    """The others don't change."""
    value: Json = "x"
    for _ in range(100_000):
        value = [value]

    assert {"case": "harbor", "reason": "[redacted]"} == NOBODY.fields({"case": "harbor", "reason": value}, ())


def test_value_that_is_nested_too_deeply_is_removed() -> None:
    """It can't be searched."""
    value: Json = "x"
    for _ in range(100_000):
        value = [value]

    assert "[redacted]" == NOBODY.json(value)


@pytest.mark.parametrize(
    ("name", "value", "secrets"),
    [
        ("OPENAI_API_KEY", "sk-canary-1", ["sk-canary-1"]),
        ("ANTHROPIC_API_KEY", " sk-ant-1\n", ["sk-ant-1"]),
        ("VLLM_API_KEY", "my-own-key", ["my-own-key"]),
        ("GITHUB_TOKEN", "ghp_q7Rk2LmZ81xT", ["ghp_q7Rk2LmZ81xT"]),
        ("HF_TOKEN", "hf_" + "aBcDEfgHIj" * 3, ["hf_" + "aBcDEfgHIj" * 3]),
        ("CLIENT_SECRET", "a1b2c3d4e5f6", ["a1b2c3d4e5f6"]),
        ("SERVICE_TOKEN", "zq81-kkw0-99xy-aab2", ["zq81-kkw0-99xy-aab2"]),
        ("AWS_SECRET_ACCESS_KEY", "wJal/XUtn+FEMI1K7MDENG/bPxRfiCY", ["wJal/XUtn+FEMI1K7MDENG/bPxRfiCY"]),
        ("AWS_ACCESS_KEY_ID", "MY9ACCESS9KEY9OF9MINE", ["MY9ACCESS9KEY9OF9MINE"]),
        ("GOOGLE_CREDENTIALS", "swordfish-of-the-seven-seas", ["swordfish-of-the-seven-seas"]),
        ("JWT_SECRET_OLD", "my-long-secret-of-words", ["my-long-secret-of-words"]),
        ("MY_TOKEN_2", "correct-horse-battery-staple", ["correct-horse-battery-staple"]),
        ("GITHUBTOKEN", "correct-horse-battery-staple", ["correct-horse-battery-staple"]),
        ("DB_PASSWORD_PROD", "hunter-2", ["hunter-2"]),
        ("OPENAI_API_KEY_2", "my-own-key", ["my-own-key"]),
        ("DB_PASSWORD", "p4ssw0rd", ["p4ssw0rd"]),
        ("SMTP_PASSWD", "abc-12", ["abc-12"]),
        ("PGPASSWORD", "p4ssw0rd", ["p4ssw0rd"]),
        ("SIGNING_KEY", "0123456789abcdef", ["0123456789abcdef"]),
        ("DATABASE_URL", "postgresql://ada:p%40ss1w@host/db", ["p@ss1w", "p%40ss1w"]),
        ("HOOK_URL", "https://host/?access_token=t0k3n-42&page=1", ["t0k3n-42"]),
        ("CRMEVAL_DSN", "host=db user=ada password='a b\\'1cd' dbname=crm", ["a b\\'1cd"]),
        ("CRMEVAL_DSN", "password=p4ssw0rd host=db", ["p4ssw0rd"]),
        ("OPENAI_CUSTOM_HEADERS", "X-Gateway: zq81kkw099xy", ["zq81kkw099xy"]),
        (
            "ANTHROPIC_CUSTOM_HEADERS",
            "Authorization: Bearer my-own-key\r\nX-Team: crm-evals\nx-api-key:other-key: 2\nnonsense\n",
            ["my-own-key", "other-key: 2"],
        ),
    ],
)
def test_secrets_of_an_environment_are_recognised_by_name(name: str, value: str, secrets: list[str]) -> None:
    assert secrets == secrets_in({name: value, "PATH": "/usr/bin"})


def test_variable_whose_name_only_starts_like_a_secret_is_not_redacted() -> None:
    """Its value is an ordinary word of reports."""
    assert [] == secrets_in({"TOKENIZERS_PARALLELISM": "meta-llama-tokenizer", "KEYBOARD": "de-latin1-nodeadkeys"})


@pytest.mark.parametrize("value", ["", "1", "true", "None", "default", "ENABLED", "postgres", "Swordfish", "12345678"])
def test_words_and_numbers_are_not_secrets(value: str) -> None:
    """Texts without them would be hard to read."""
    assert [] == secrets_in({"FEATURE_KEY": value, "APP_TOKEN": value, "DB_URL": f"postgresql://a:{value}@host"})


@pytest.mark.parametrize(
    "value",
    [
        "gpt-4.1",
        "ft:gpt-4.1-mini-2025-04-14:acme:crm:BxYz12Ab",
        "client_id",
        "test_crm.py",
        "bundle.3f9a8c7d12e4.js",
        "evals/data/crm-2026.jsonl",
        "/run/secrets/3f9a8c7d12e4",
        "~/.ssh/id_ed25519",
        r"C:\Users\ada1815\keys",
        "ada.lovelace1815@example.com",
        "320850ba",
        "a1b2c3d4e5",
    ],
)
@pytest.mark.parametrize("name", ["MODEL_KEY", "CACHE_TOKEN", "PARTITION_SECRET"])
def test_paths_and_names_are_not_secrets(name: str, value: str) -> None:
    """Reports and answers contain them."""
    assert [] == secrets_in({name: value})


@pytest.mark.parametrize(
    ("name", "value"), [("MY_API_KEY", "gpt-4.1"), ("MY_PASSWORD", "ab-12"), ("MY_TOKEN", "a1b2c3d4")]
)
def test_short_values_are_not_secrets(name: str, value: str) -> None:
    """They occur in too many words."""
    assert [] == secrets_in({name: value})


@pytest.mark.parametrize("value", ["http://[broken", "host=db user=ada", "no address", "https://host/path"])
def test_address_without_a_password_has_no_secret(value: str) -> None:
    assert [] == secrets_in({"BASE_URL": value})


def test_secret_is_listed_once() -> None:
    assert ["sk-canary-1a2b3c4d"] == secrets_in({"A_KEY": "sk-canary-1a2b3c4d", "B_TOKEN": "sk-canary-1a2b3c4d"})
