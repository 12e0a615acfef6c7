"""What was answered, and so what is left to ask: pure decisions on the state of the tables."""

from winnow.ledger.plan import Change, Mode, Plan, plan_interval, required_on
from winnow.ledger.runs import Outcome, Run, newest_published, unfinished

__all__ = ["Change", "Mode", "Outcome", "Plan", "Run", "newest_published", "plan_interval", "required_on", "unfinished"]
