"""What a person says about a doubt. The sentences are those of the rules, so form and service say the same."""

from typing import Any

from django import forms

from reconciliation.core import GIVE_REFERENCE, NAME_WHAT, SAY_HOW
from reconciliation.models import Resolution

CHOOSE = "Choose what happened."


class ResolutionForm(forms.Form):
    """`case` and `seen` are what the page showed, so that a word from an old page is not taken."""

    verdict = forms.ChoiceField(
        choices=Resolution.Verdict.choices, error_messages={"required": CHOOSE, "invalid_choice": CHOOSE}
    )
    external_id = forms.CharField(
        label="Provider's reference",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text='Needed for "It happened".',
    )
    evidence_reference = forms.CharField(
        label="Evidence reference",
        max_length=300,
        error_messages={"required": NAME_WHAT},
        widget=forms.TextInput(attrs={"placeholder": "statement line, ticket, mail", "autocomplete": "off"}),
    )
    reason = forms.CharField(
        label="Reason",
        max_length=4000,
        error_messages={"required": SAY_HOW},
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    case = forms.IntegerField(required=False, widget=forms.HiddenInput)
    seen = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        """A word that it happened needs what the provider calls it."""
        cleaned = super().clean() or {}
        happened = cleaned.get("verdict") == Resolution.Verdict.HAPPENED
        if happened and not cleaned.get("external_id") and "external_id" not in self.errors:
            self.add_error("external_id", GIVE_REFERENCE)
        return cleaned
