"""Every page works as a page, without script and without a rule of its own."""

import re

from operations.core.states import State
from tests.house.tree import ROOT, product, templates

FORM = re.compile(r"<form\b(?P<attributes>[^>]*)>(?P<inside>.*?)</form>", re.DOTALL)
TAG = re.compile(r"<(?P<name>[a-z][a-z0-9]*)\b(?P<attributes>(?:\{%.*?%\}|\{\{.*?\}\}|[^>])*)>", re.DOTALL)
CONDITION = re.compile(r"\{%\s*(?:if|elif)\b(.*?)%\}")
# Its method and its fields come from the page that includes it, which is checked itself.
FRAMES = {"templates/allauth/elements/form.html"}


def posting() -> list[tuple[str, str, str]]:
    """Every form that posts: template, attributes, content."""
    return [
        (name, form["attributes"], form["inside"])
        for name, text in templates().items()
        for form in FORM.finditer(text)
        if re.search(r"""method=["']?post""", form["attributes"], re.IGNORECASE)
    ]


def test_every_form_is_a_get_or_a_post() -> None:
    for name, text in templates().items():
        assert text.count("<form") == len(FORM.findall(text)), f"{name}: a form is not closed in its own template"
        for form in FORM.finditer(text):
            if name not in FRAMES:
                assert re.search(r"""method=["'](get|post)["']""", form["attributes"]), (name, form["attributes"])


def test_every_form_that_posts_proves_where_it_comes_from() -> None:
    assert posting()
    for name, _, inside in posting():
        assert "{% csrf_token %}" in inside, name
        assert re.search(r"<button\b|type=.submit|{% slot|{% include|{% element", inside), f"{name}: nothing submits it"


def test_every_form_works_without_htmx() -> None:
    for name, attributes, inside in posting():
        if "hx-" in attributes + inside:
            assert re.search(r"\baction=", attributes) or "hx-post" not in attributes, name


def test_htmx_only_makes_quicker_what_works_already() -> None:
    """A request by htmx stands on a form or a link that makes it as well, or on a region that a reload renews."""
    for name, text in templates().items():
        for tag in TAG.finditer(text):
            sends = set(re.findall(r"\bhx-(get|post|put|patch|delete)\b", tag["attributes"]))
            assert not sends & {"put", "patch", "delete"}, name
            if "post" in sends:
                assert tag["name"] == "form", name
            if "get" in sends:
                works = "href=" in tag["attributes"] or tag["name"] == "form" or "hx-trigger" in tag["attributes"]
                assert works, name


def test_no_template_compares_states() -> None:
    """Templates choose words and order, never rules."""
    word = "|".join(state.value for state in State)
    compared = re.compile(rf"""(==|!=|\bin\b)\s*["'][^"']*\b({word})\b|["']({word})["']\s*(==|!=)|\.state\s*(==|!=)""")
    found = [
        (name, condition)
        for name, text in templates().items()
        for condition in CONDITION.findall(text)
        if compared.search(condition)
    ]
    assert found == []


def test_no_script_style_or_handler_stands_in_a_page() -> None:
    """The content security policy allows none, so one would only seem to work."""
    for name, text in templates().items():
        for tag in TAG.finditer(text):
            attributes = tag["attributes"]
            assert tag["name"] != "style", name
            assert tag["name"] != "script" or "src=" in attributes, name
            assert not re.search(r"""\s(style|on[a-z]+)\s*=""", attributes), (name, attributes)
            assert "javascript:" not in attributes, name


def test_every_text_is_escaped() -> None:
    for name, text in templates().items():
        assert not re.search(r"\|\s*(safe|safeseq)\b|autoescape\s+off", text), name
    for name in product():
        source = (ROOT / name).read_text("utf-8")
        assert not re.search(r"\bmark_safe\b|\bSafeString\b|allow_tags|__html__", source), name


def test_no_page_asks_another_host() -> None:
    for name, text in templates().items():
        assert not re.search(r"""(src|href|action)=["'](https?:)?//""", text), name
