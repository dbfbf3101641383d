"""The kinds of case: one marker each."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.journal.ids import INDEXES
from pytest_crmeval.options.values import Options, share_of_worker
from pytest_crmeval.questions.question import Question
from pytest_crmeval.solutions.solution import SolutionFile

if TYPE_CHECKING:  # each kind is imported when a test of it is collected, or played
    from pytest_crmeval.domain.trial import PlannedCase
    from pytest_crmeval.player.evaluation import Evaluation, Participants, Setting
    from pytest_crmeval.ports.agent import Agent
    from pytest_crmeval.report.loads import CaseSize
    from pytest_crmeval.solutions.cases import FileRef

Case = Conversation | Question | SolutionFile
Player = tuple[str, str, str]
"""Name and spec of the subject that plays a case, and the id of its pytest item."""


class Ref(Protocol):
    """A reference to a case: its location, and what is known before it is read."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def folder(self) -> str:
        """The folder of the checkpoint; empty for cases that are not solution files."""
        ...

    @property
    def line(self) -> int:
        """Line number of the case in the file."""
        ...

    @property
    def offset(self) -> int:
        """Byte offset of the case in the file."""
        ...

    @property
    def id(self) -> str:
        """The id of the case."""
        ...

    @property
    def fingerprint(self) -> str:
        """A digest of its content."""
        ...

    @property
    def turns(self) -> int:
        """Number of turns."""
        ...

    @property
    def tags(self) -> Sequence[str]:
        """Tags, which --crmeval-tag selects."""
        ...

    @property
    def split(self) -> str:
        """``train``, ``test`` or empty."""
        ...

    @property
    def judged(self) -> bool:
        """Whether only a judge can grade it."""
        ...

    @property
    def simulated(self) -> bool:
        """Whether a model plays its user."""
        ...

    @property
    def confidential(self) -> bool:
        """Whether its content must not appear in plain text."""
        ...

    def read(self) -> Case:
        """Return the case itself."""
        ...


class Kind(ABC):
    """One kind of case: its marker, its argument, its files, and how it is evaluated."""

    marker: ClassVar[str]
    argument: ClassVar[str]
    """Name of the fixture with the case."""
    example: ClassVar[str] = "'file.jsonl'"
    """An example of the marker's path, for messages."""
    settings: ClassVar[frozenset[str]] = frozenset({"suite"})
    """Keyword arguments that the marker accepts."""
    needs_server: ClassVar[bool] = False
    """Whether its cases need PostgreSQL."""
    may_be_ahead: ClassVar[bool] = True
    """Whether its cases wait for models and not for this machine, so that they can be prefetched."""
    has_agent: ClassVar[bool] = True
    """Whether an agent plays its cases; if not, each case is played once, whatever the agents."""
    module: ClassVar[str]
    """The module that evaluates its cases, imported before the first one is played."""
    case: ClassVar[type]
    """The type of its cases."""

    @abstractmethod
    def files(self, options: Options) -> Sequence[Path]:
        """Return the files that replace those of the marker; may be empty."""

    @abstractmethod
    def index(self, paths: Sequence[Path], settings: Mapping[str, Any], options: Options) -> Sequence[Ref]:
        """Validate the files and return references to their cases; DatasetError if they are invalid."""

    @abstractmethod
    def oracle(self, options: Options, case: Any) -> "Agent":  # noqa: ANN401 (of this kind)
        """Return the agent that knows the answers of a case."""

    @abstractmethod
    def evaluation(self, setting: "Setting", participants: "Participants") -> "Evaluation[Any]":
        """Return the evaluation of cases of this kind."""

    @abstractmethod
    def size(self, ref: Ref) -> "CaseSize":
        """Return the size of a case, for estimates."""

    def instructed(self, agent: "Agent") -> "Agent":
        """Return the agent with the prompt for this kind of case."""
        return agent

    def settled(self, settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        """Return the marker's arguments, with paths relative to ``folder`` resolved; ValueError if one is invalid."""
        del folder
        return settings

    def players(self, sandbox: Callable[[], str], agents: Sequence[Player], ref: Ref, name: str) -> Sequence[Player]:
        """Return the subjects that play a case, with the ids of their items; ``sandbox`` returns the sandbox's name."""
        del sandbox, ref
        return [(agent, spec, f"{label}-{name}") for agent, spec, label in agents]

    def place(self, planned: "PlannedCase", ref: Ref) -> tuple[str, ...]:
        """Return the path of a trial's files; trials with the same path need different file names."""
        del ref
        return planned.suite, planned.subject, planned.case

    def load(self) -> None:
        """Import the module that evaluates cases of this kind."""
        import_module(self.module)


class Conversations(Kind):
    """Dialogues with an agent that works in a CRM."""

    marker = "conversations"
    argument = "conversation"
    module = "pytest_crmeval.player.conversations"
    needs_server = True
    case = Conversation

    def files(self, options: Options) -> Sequence[Path]:
        """Return the files of --crmeval-conversations."""
        return options.conversations

    def index(self, paths: Sequence[Path], settings: Mapping[str, Any], options: Options) -> Sequence[Ref]:
        """Index JSON Lines files."""
        del settings
        from pytest_crmeval.conversations.dataset.files import index, index_cache

        return index(paths, index_cache(options.reports / INDEXES, share_of_worker()))

    def oracle(self, options: Options, case: Conversation) -> "Agent":
        """Return the agent that makes the reference calls."""
        from pytest_crmeval.conversations.oracle import Oracle

        return Oracle(case, recites="clbench" in options.scorers)

    def evaluation(self, setting: "Setting", participants: "Participants") -> "Evaluation[Any]":
        """Return the evaluation that plays on the CRM."""
        from pytest_crmeval.player.conversations import ConversationEvaluation

        return ConversationEvaluation(setting, participants)

    def size(self, ref: Ref) -> "CaseSize":
        """Return the number of turns, and of characters that the user says."""
        from pytest_crmeval.report.loads import CaseSize

        case = ref.read()
        assert isinstance(case, Conversation)  # noqa: S101 (of this kind)
        return CaseSize(turns=len(case.turns), characters=sum(len(turn.utterance) for turn in case.turns))


class Questions(Kind):
    """Questions with one answer each."""

    marker = "questions"
    argument = "question"
    module = "pytest_crmeval.player.questions"
    settings = frozenset({"suite", "confidential"})
    case = Question

    def files(self, options: Options) -> Sequence[Path]:
        """Return the files of --crmeval-questions."""
        return options.questions

    def index(self, paths: Sequence[Path], settings: Mapping[str, Any], options: Options) -> Sequence[Ref]:
        """Index JSON Lines files and tables."""
        del options
        from pytest_crmeval.questions.datasets import index

        return index(paths, confidential=bool(settings.get("confidential")))

    def oracle(self, options: Options, case: Question) -> "Agent":
        """Return the agent that gives the right answer."""
        del options
        from pytest_crmeval.questions.question import QuestionOracle

        return QuestionOracle(case)

    def evaluation(self, setting: "Setting", participants: "Participants") -> "Evaluation[Any]":
        """Return the evaluation that asks and grades."""
        from pytest_crmeval.player.questions import QuestionEvaluation

        return QuestionEvaluation(setting, participants)

    def size(self, ref: Ref) -> "CaseSize":
        """Return the number of characters in the prompt."""
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
        """Return a chat agent with the prompt for questions instead of that for the CRM."""
        from pytest_crmeval.agents.chat import ChatAgent, for_questions

        return for_questions(agent) if isinstance(agent, ChatAgent) else agent


class Solutions(Kind):
    """Files of programs that a checkpoint has written; the checkpoint is the subject, and no model is called."""

    marker = "solutions"
    argument = "solutions"
    example = "'checkpoints/'"
    module = "pytest_crmeval.player.solutions"
    settings = frozenset({"suite", "problems", "threshold"})
    may_be_ahead = False  # programs run on this machine
    has_agent = False
    case = SolutionFile

    def files(self, options: Options) -> Sequence[Path]:
        """Return the files of --crmeval-solutions."""
        return options.checkpoints.solutions

    def index(self, paths: Sequence[Path], settings: Mapping[str, Any], options: Options) -> Sequence[Ref]:
        """Find solution files and check that there are problems for them."""
        from pytest_crmeval.solutions.cases import index, problems_of

        return index(paths, problems_of(settings, options), options)

    def settled(self, settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        """Return the arguments with resolved paths of problems; ValueError if the threshold is invalid."""
        given, threshold = settings.get("problems", ()), settings.get("threshold", 0.0)
        named = [given] if isinstance(given, str | Path) else list(given)
        if not isinstance(threshold, int | float) or not 0.0 <= threshold <= 1.0:
            raise ValueError(f"threshold={threshold!r}: must be a share of solved problems from 0 to 1")
        return {**settings, "problems": tuple(folder / name for name in named)}

    def players(self, sandbox: Callable[[], str], agents: Sequence[Player], ref: Ref, name: str) -> Sequence[Player]:
        """Return the checkpoint as the only subject."""
        del agents
        from pytest_crmeval.domain.trial import SANDBOX

        return [(self._of(ref).checkpoint.name, f"{SANDBOX}{sandbox()}", name)]

    def place(self, planned: "PlannedCase", ref: Ref) -> tuple[str, ...]:
        """Return the path of the results, which has neither suite nor subject."""
        del planned
        from pytest_crmeval.journal.solutions.places import place_of

        found = self._of(ref)
        return place_of(found.checkpoint, found.found.id).parts

    def oracle(self, options: Options, case: SolutionFile) -> "Agent":
        """Return a placeholder for the checkpoint, which can't be called."""
        del options
        from pytest_crmeval.agents.scripted import Absent

        return Absent(name=case.checkpoint.name)

    def evaluation(self, setting: "Setting", participants: "Participants") -> "Evaluation[Any]":
        """Return the evaluation that runs the programs."""
        from pytest_crmeval.player.solutions import SolutionFileEvaluation

        return SolutionFileEvaluation(setting, participants)

    def size(self, ref: Ref) -> "CaseSize":
        """Return the estimated number of programs."""
        from pytest_crmeval.player.solutions import solutions_in
        from pytest_crmeval.report.loads import CaseSize

        solutions = 0 if self._of(ref).broken else solutions_in(ref.path)
        return CaseSize(turns=ref.turns, characters=0, judged=False, solutions=solutions)

    def _of(self, ref: Ref) -> "FileRef":
        from pytest_crmeval.solutions.cases import FileRef

        assert isinstance(ref, FileRef)  # noqa: S101 (of this kind)
        return ref


KINDS: Sequence[Kind] = (Conversations(), Questions(), Solutions())
