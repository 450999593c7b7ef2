"""What agents may ask for: one file per action, found by name."""

from operations.actions import crm_update_deal, payments_create
from operations.actions.base import Action

ACTIONS: dict[str, Action] = {action.name: action for action in (payments_create.ACTION, crm_update_deal.ACTION)}

__all__ = ["ACTIONS", "Action"]
