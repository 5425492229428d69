"""The page of investigations shows a stranger's text as text."""

from bot.store import Store, open_database
from bot.web.app import create_app


def test_the_overview_escapes_what_it_shows(tmp_path):
    database = open_database(f"sqlite:///{tmp_path}/kl.sqlite")
    store = Store(database)
    store.note("acme/tinyserve", "job 7", "no_kl_failure", "<script>alert(1)</script>")
    app = create_app(None, store, secret="s", overview=True)
    page = app.test_client().get("/").text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>" not in page
