"""CRM dialogues: how they are read, checked, seeded, played and scored.

1. ``dataset/files.py`` reads a line of a file as a ``Conversation``. ``dataset/defects.py`` finds what makes it
   unsolvable, such as a value that the user never provides.
2. ``crm/postgres.py`` seeds a CRM with the rows of the case, in a transaction that is rolled back at the end.
3. ``play.py`` plays the turns: the user's utterance goes to the agent, its tool calls go to the CRM (``crm/tools/``),
   the results back to the agent, until it replies. The oracle (``oracle.py``) plays first; its play is the reference.
4. ``consistency.py`` checks that the reference does what the case expects. Otherwise the case is invalid.
5. ``scorers/`` compare the agent's play with the reference and with the expectations, which are the answer key.

In utterances and arguments, ``{{turn_2.client_id}}`` is a reference to a field of an earlier turn's result.
``generator/`` writes datasets, ``lint/`` checks them, and ``describe/`` shows their distribution.
"""
