"""The answer of an approver, with the two hashes of what their page showed."""

from django import forms

from approvals.models import Decision


class DecisionForm(forms.Form):
    """Whether a reason is needed and whether the hashes still hold, the service says; here is only the outer form."""

    reason = forms.CharField(
        label="Reason",
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": "Required to reject"}),
        help_text="The agent and its owner read it.",
    )
    separate_effect = forms.BooleanField(label="This is a separate effect, to happen as well", required=False)
    payload_hash = forms.CharField(max_length=71, widget=forms.HiddenInput)
    display_hash = forms.CharField(max_length=71, widget=forms.HiddenInput)
    verdict = forms.ChoiceField(choices=Decision.Verdict.choices, widget=forms.HiddenInput)
