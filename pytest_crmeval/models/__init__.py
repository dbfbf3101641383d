"""Language models behind their SDKs. Each SDK is imported here only, and only when it is used.

An agent calls a ``RetryingModel`` (``retrying_model.py``). Before each attempt it asks the run's control
(``control.py``) for a permit, which the rate limits (``limits/``) and the budget (``budget.py``) may delay or refuse.
An SDK backend (``sdks/``) makes the attempt. Usage and cost go to the trial's meter (``usage_meter.py``).
Calls can be recorded and replayed (``cassettes/``).
"""
