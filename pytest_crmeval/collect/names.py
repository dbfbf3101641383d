"""Names of our fixtures, markers and plugins; loaded in every pytest run of the environment."""

FIXTURES = ("agent", "conversation", "crm", "crm_connection", "evaluate", "question", "sandbox", "scorers", "solutions")
OUR_FIXTURES = "pytest_crmeval.collect.fixtures"
"""The module of our fixtures; a fixture of another module is the user's own."""
MARKERS = {
    "conversations": "conversations(path, suite=...): play each conversation of a JSON Lines file",
    "questions": "questions(path, suite=..., confidential=...): ask each question of a JSON Lines or CSV file",
    "solutions": (
        "solutions(path, problems=..., threshold=..., suite=...): run each solution file (JSON Lines) of checkpoints"
    ),
}
"""Each marker adds cases of its kind."""
PROCESS = "crmeval-process"
"""The plugin that is this process's part of the run, if there is something to evaluate."""
RUN_FIXTURE = "_crmeval_run"
"""The fixture that starts the run, for tests without our markers that use our other fixtures."""
