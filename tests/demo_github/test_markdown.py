"""Comments on the stand-in's pages are rendered, and a stranger's HTML is not."""

from hypothesis import given
from hypothesis import strategies as st

from bot.demo.github.markdown import render


def test_tables_folds_and_code_are_rendered():
    html = render("| a |\n|---|\n| 1 |\n\n<details><summary>more</summary>\n\n`x`\n\n</details>")
    assert "<td>1</td>" in html and "<code>x</code>" in html
    assert "<details>\n<summary>more</summary>\n" in html and "</details>" in html and "&lt;" not in html


def test_hidden_comments_are_left_out():
    assert render("a <!-- kl-triage:v1 --> b").strip() == "<p>a  b</p>"


@given(st.text(alphabet="<>/scriptimgonerror= details\"'&;`!-\n", max_size=80))
def test_no_html_but_bare_folds_comes_through(text):
    html = render(text)
    for tag in ("<script", "<img ", "<img>", "<details ", "<summary ", "<iframe"):
        assert tag not in html.lower()
