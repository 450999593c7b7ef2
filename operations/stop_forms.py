"""What to stop and why; why it may go on."""

from typing import Any

from django import forms

from operations.models import Stop

EVERYTHING = "tenant:"


class StopForm(forms.Form):
    """One choice names scope and subject together, so that no combination can be wrong."""

    what = forms.ChoiceField(label="What")
    reason = forms.CharField(
        label="Why",
        max_length=400,
        error_messages={"required": "Say why; everybody here will read it."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def __init__(self, subjects: dict[str, list[str]], *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        field = self.fields["what"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [
            (EVERYTHING, "Everything"),
            *(
                (Stop.Scope(scope).label, [(f"{scope}:{name}", name) for name in names])
                for scope, names in subjects.items()
                if names
            ),
        ]

    @property
    def scope(self) -> str:
        return str(self.cleaned_data["what"]).partition(":")[0]

    @property
    def subject(self) -> str:
        return str(self.cleaned_data["what"]).partition(":")[2]


class LiftForm(forms.Form):
    """`asked` is what the page showed: whether somebody had asked already."""

    asked = forms.BooleanField(required=False)
    reason = forms.CharField(required=False, max_length=400)
