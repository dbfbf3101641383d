"""The kinds of case that a marker can bring: what is the same for all of them is written once, elsewhere."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.solution import SolutionFile
from pytest_crmeval.journal.ids import INDEXES
from pytest_crmeval.options.values import Options, share_of_worker
from pytest_crmeval.questions.question import Question

if TYPE_CHECKING:  # each kind is imported when a test of it is collected, or played
    from pytest_crmeval.domain.trial import PlannedCase
    from pytest_crmeval.player.evaluation import Evaluation, Participants, Setting
    from pytest_crmeval.ports.agent import Agent
    from pytest_crmeval.report.loads import CaseSize
    from pytest_crmeval.solutions.cases import FileRef

Case = Conversation | Question | SolutionFile
Player = tuple[str, str, str]
"""Who plays a case: the name and the spec, and what the item is called."""


class Ref(Protocol):
    """Where a case is, and what is known of it before it is read."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def line(self) -> int:
        """Where in the file it is, for people."""
        ...

    @property
    def offset(self) -> int:
        """Where in the file it is."""
        ...

    @property
    def id(self) -> str:
        """What it is called."""
        ...

    @property
    def fingerprint(self) -> str:
        """What changes when its content changes."""
        ...

    @property
    def turns(self) -> int:
        """How long it is."""
        ...

    @property
    def tags(self) -> Sequence[str]:
        """What it is selected by."""
        ...

    @property
    def split(self) -> str:
        """What it may be used for."""
        ...

    @property
    def judged(self) -> bool:
        """Whether only a judge can tell how it went."""
        ...

    @property
    def confidential(self) -> bool:
        """Whether nothing of it may be seen in plain text."""
        ...

    def read(self) -> Case:
        """Return the case itself."""
        ...


class Kind(ABC):
    """One kind of case: its marker, its argument, its files, and how it is evaluated."""

    marker: ClassVar[str]
    argument: ClassVar[str]
    """What a test calls its case; a fixture by this name gives it."""
    example: ClassVar[str] = "'file.jsonl'"
    """What a marker has for a path, as it is written."""
    settings: ClassVar[frozenset[str]] = frozenset({"suite"})
    """What a marker may say beside the path."""
    needs_server: ClassVar[bool] = False
    """Whether it is played in a PostgreSQL."""
    may_be_ahead: ClassVar[bool] = True
    """Whether it waits for models, and not for this machine: then it may be played ahead of its item."""
    has_agent: ClassVar[bool] = True
    """Whether somebody has to play it; else it is played once, whatever agents there are."""
    home: ClassVar[str]
    """The module that evaluates it, which is loaded when a case is to be played."""
    case: ClassVar[type]
    """What a test of this kind evaluates."""

    @abstractmethod
    def files(self, options: Options) -> Sequence[Path]:
        """Return the files that replace the marker's; perhaps none."""

    @abstractmethod
    def index(self, paths: Sequence[Path], settings: Mapping[str, Any], options: Options) -> Sequence[Ref]:
        """Validate the files and return where the cases are; DatasetError if they can't be played."""

    @abstractmethod
    def oracle(self, options: Options, case: Any) -> "Agent":  # noqa: ANN401 (of this kind)
        """Return who knows the answers of a case."""

    @abstractmethod
    def evaluation(self, setting: "Setting", cast: "Participants") -> "Evaluation[Any]":
        """Return what makes a trial of a case."""

    @abstractmethod
    def size(self, ref: Ref) -> "CaseSize":
        """Return how much a case is, for who wants to know what it will take."""

    def instructed(self, agent: "Agent") -> "Agent":
        """Return the agent as it is to play a case of this kind."""
        return agent

    def settled(self, settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        """Return what a marker says beside the path, read from ``folder``; ValueError if it can't be read."""
        del folder
        return settings

    def players(self, sandbox: Callable[[], str], agents: Sequence[Player], ref: Ref, name: str) -> Sequence[Player]:
        """Return who plays a case, and what the items are called; ``sandbox`` names the sandbox of programs."""
        del sandbox, ref
        return [(agent, spec, f"{label}-{name}") for agent, spec, label in agents]

    def place(self, planned: "PlannedCase", ref: Ref) -> tuple[str, ...]:
        """Return what the files of a trial are kept under: two that have the same place need names of their own."""
        del ref
        return planned.suite, planned.subject, planned.case

    def load(self) -> None:
        """Load what evaluates it now, and not when the first case is played."""
        import_module(self.home)


class Conversations(Kind):
    """Dialogues with an agent that works in a CRM."""

    marker = "conversations"
    argument = "conversation"
    home = "pytest_crmeval.player.conversations"
    needs_server = True
    case = Conversation

    def files(self, options: Options) -> Sequence[Path]:
        """Return what --crmeval-conversations says."""
        return options.conversations

    def index(self, paths: Sequence[Path], settings: Mapping[str, Any], options: Options) -> Sequence[Ref]:
        """Read JSON Lines."""
        del settings
        from pytest_crmeval.conversations.dataset.files import index, index_cache

        return index(paths, index_cache(options.reports / INDEXES, share_of_worker()))

    def oracle(self, options: Options, case: Conversation) -> "Agent":
        """Return who makes the reference calls."""
        from pytest_crmeval.conversations.oracle import Oracle

        return Oracle(case, recites="clbench" in options.scorers)

    def evaluation(self, setting: "Setting", cast: "Participants") -> "Evaluation[Any]":
        """Play on the CRM."""
        from pytest_crmeval.player.conversations import ConversationEvaluation

        return ConversationEvaluation(setting, cast)

    def size(self, ref: Ref) -> "CaseSize":
        """Count what the user says."""
        from pytest_crmeval.report.loads import CaseSize

        case = ref.read()
        assert isinstance(case, Conversation)  # noqa: S101 (of this kind)
        return CaseSize(turns=len(case.turns), characters=sum(len(turn.utterance) for turn in case.turns))


class Questions(Kind):
    """Questions with one answer each."""

    marker = "questions"
    argument = "question"
    home = "pytest_crmeval.player.questions"
    settings = frozenset({"suite", "confidential"})
    case = Question

    def files(self, options: Options) -> Sequence[Path]:
        """Return what --crmeval-questions says."""
        return options.questions

    def index(self, paths: Sequence[Path], settings: Mapping[str, Any], options: Options) -> Sequence[Ref]:
        """Read JSON Lines and tables."""
        del options
        from pytest_crmeval.questions.datasets import index

        return index(paths, confidential=bool(settings.get("confidential")))

    def oracle(self, options: Options, case: Question) -> "Agent":
        """Return who says the right answer."""
        del options
        from pytest_crmeval.questions.oracle import QuestionOracle

        return QuestionOracle(case)

    def evaluation(self, setting: "Setting", cast: "Participants") -> "Evaluation[Any]":
        """Ask and grade."""
        from pytest_crmeval.player.questions import QuestionEvaluation

        return QuestionEvaluation(setting, cast)

    def size(self, ref: Ref) -> "CaseSize":
        """Count what is asked."""
        from pytest_crmeval.agents.chat import question_prompt
        from pytest_crmeval.questions.play import prompt_of
        from pytest_crmeval.report.loads import CaseSize

        case = ref.read()
        assert isinstance(case, Question)  # noqa: S101 (of this kind)
        return CaseSize(
            turns=1,
            characters=len(prompt_of(case)),
            asked_once=True,
            overhead=len(question_prompt()),
            judged=ref.judged,
        )

    def instructed(self, agent: "Agent") -> "Agent":
        """Give a model the prompt for questions in place of the CRM's."""
        from pytest_crmeval.agents.chat import ChatAgent, for_questions

        return for_questions(agent) if isinstance(agent, ChatAgent) else agent


class Solutions(Kind):
    """Files of programs that a checkpoint has written. The checkpoint is who is evaluated; nobody is asked anything."""

    marker = "solutions"
    argument = "solutions"
    example = "'checkpoints/'"
    home = "pytest_crmeval.player.solutions"
    settings = frozenset({"suite", "problems", "threshold"})
    may_be_ahead = False  # it waits for this machine
    has_agent = False
    case = SolutionFile

    def files(self, options: Options) -> Sequence[Path]:
        """Return what --crmeval-solutions says."""
        return options.checkpoints.solutions

    def index(self, paths: Sequence[Path], settings: Mapping[str, Any], options: Options) -> Sequence[Ref]:
        """Look for files, and for what they are judged by."""
        from pytest_crmeval.solutions.cases import index, problems_of

        return index(paths, problems_of(settings, options), options)

    def settled(self, settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        """Return paths of problems, and a threshold."""
        given, threshold = settings.get("problems", ()), settings.get("threshold", 0.0)
        named = [given] if isinstance(given, str | Path) else list(given)
        if not isinstance(threshold, int | float) or not 0.0 <= threshold <= 1.0:
            raise ValueError(f"threshold={threshold!r}: give a share of solved problems, from 0 to 1")
        return {**settings, "problems": tuple(folder / name for name in named)}

    def players(self, sandbox: Callable[[], str], agents: Sequence[Player], ref: Ref, name: str) -> Sequence[Player]:
        """Return the checkpoint, whoever else there is."""
        del agents
        from pytest_crmeval.domain.trial import SANDBOX

        return [(self._of(ref).checkpoint.name, f"{SANDBOX}{sandbox()}", name)]

    def place(self, planned: "PlannedCase", ref: Ref) -> tuple[str, ...]:
        """Return where the results go: suites and subjects are in no path there."""
        del planned
        from pytest_crmeval.journal.solutions.places import place_of

        found = self._of(ref)
        return place_of(found.checkpoint, found.found.id).parts

    def oracle(self, options: Options, case: SolutionFile) -> "Agent":
        """Return who stands for the checkpoint, and can't be asked."""
        del options
        from pytest_crmeval.agents.scripted import Absent

        return Absent(name=case.checkpoint.name)

    def evaluation(self, setting: "Setting", cast: "Participants") -> "Evaluation[Any]":
        """Run programs."""
        from pytest_crmeval.player.solutions import SolutionFileEvaluation

        return SolutionFileEvaluation(setting, cast)

    def size(self, ref: Ref) -> "CaseSize":
        """Count the programs; no model is called."""
        from pytest_crmeval.player.solutions import solutions_in
        from pytest_crmeval.report.loads import CaseSize

        return CaseSize(turns=ref.turns, characters=0, judged=False, solutions=solutions_in(ref.path))

    def _of(self, ref: Ref) -> "FileRef":
        from pytest_crmeval.solutions.cases import FileRef

        assert isinstance(ref, FileRef)  # noqa: S101 (of this kind)
        return ref


KINDS: Sequence[Kind] = (Conversations(), Questions(), Solutions())
