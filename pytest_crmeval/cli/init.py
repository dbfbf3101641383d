"""`crmeval init`: write a small project of evaluations that runs at once."""

import argparse
import shlex
import sys
from pathlib import Path

from pytest_crmeval.cli.terminal import UsageError

HELP = """\
Write a small evaluation project: an agent of your own, three CRM conversations, five questions, the programs of two
sample checkpoints, the settings of pytest, and a CI workflow. It runs immediately, without a key or a server:

    crmeval init my-evals && cd my-evals && pytest
    pytest --crmeval-agent mine                         # your agent, evals/agent.py

    crmeval init my-evals --agent openai:gpt-4.1        # evaluate a model instead
    crmeval init my-evals --with-suite crm              # with the 1,200 bundled conversations

Existing files are never replaced. Exit status: 0 if the project was written, 2 if it could not be.
"""
SCAFFOLD = Path(__file__).parent / "scaffold"
PLACES = {"gitignore": ".gitignore", "workflow.yml": ".github/workflows/evals.yml"}
"""Files that have another name in the scaffold, where the original name would have an effect in this repository."""
SUITES = ("crm",)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "folder", type=Path, nargs="?", default=Path(), help="folder to write to (default: the current one)"
    )
    parser.add_argument("--agent", metavar="SPEC", help="evaluate this model instead of an agent of your own")
    parser.add_argument("--with-suite", choices=SUITES, help="include the conversations of this bundled suite")


def run(options: argparse.Namespace) -> int:
    """Write all files, or none if one of them exists."""
    name, spec, key = _model(options.agent) if options.agent else ("mine", "agent:Agent", "")
    files = _files(name, spec, key)
    if options.agent:
        del files["evals/agent.py"]
    if options.with_suite:
        # Beside this module in a wheel, in `evals/` in a checkout of the repository.
        places = (Path(__file__).parent / "bundled", Path(__file__).parents[2] / "evals" / "data")
        bundled = next(path for folder in places if (path := folder / "crm.jsonl").exists())
        files["evals/data/crm.jsonl"] = bundled.read_bytes()
    try:
        existing = [place for place in files if (options.folder / place).exists()]
        if existing:
            raise UsageError(
                f"{options.folder / existing[0]} already exists; nothing was written; choose another folder"
            )
        for place, content in files.items():
            path = options.folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}; the project is incomplete") from error
    sys.stdout.write(f"wrote {len(files)} files to {options.folder.absolute()}\n\n")
    if options.folder != Path():
        sys.stdout.write(f"cd {shlex.quote(str(options.folder))}\n")
    sys.stdout.write("pytest                                     # the oracle, which knows the answers, scores 1.000\n")
    if options.agent:
        sys.stdout.write(f"pytest --crmeval-agent {name} --crmeval-estimate\n")
    if key:
        sys.stdout.write(f"export {key}=...                 # or write it to .env\n")
    sys.stdout.write(f"pytest --crmeval-agent {name}\n")
    return 0


def _model(spec: str) -> tuple[str, str, str]:
    """Return the name, the spec and the key's variable of a model, if it needs one; UsageError if it is not a model."""
    from pytest_crmeval.agents import NAMED_AGENTS
    from pytest_crmeval.models.providers import PROVIDERS
    from pytest_crmeval.models.specs import ModelSpec, SpecError

    try:
        model = ModelSpec.parse(NAMED_AGENTS.get(spec, spec))
    except SpecError as error:
        raise UsageError(f"--agent {spec}: {error}; or one of {', '.join(NAMED_AGENTS)}") from error
    name = spec if spec in NAMED_AGENTS else model.model.rpartition("/")[2]
    needs_key = model.key or PROVIDERS[model.provider].needs_key
    return name, NAMED_AGENTS.get(spec, spec), model.key_name if needs_key else ""


def _files(name: str, spec: str, key: str) -> dict[str, bytes]:
    """Return the content of each file by its path in the project."""
    secret = f"\n        env:\n          {key}: ${{{{ secrets.{key} }}}}" if key else ""
    words = {"@AGENT@": f"{name} = {spec}", "@NAME@": name, "@ENV@": secret}
    files = {}
    for path in SCAFFOLD.rglob("*"):
        if path.is_dir() or path.suffix == ".pyc":
            continue
        text = path.read_text(encoding="utf-8")
        for word, meaning in words.items():
            text = text.replace(word, meaning)
        place = path.relative_to(SCAFFOLD).as_posix()
        files[PLACES.get(place, place)] = text.encode()
    return files
