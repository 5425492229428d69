"""The lab: the whole bot in this process, against a GitHub stand-in on a socket, with canned reruns.

    from tests.lab.asserts import assert_ended, assert_once
    # in a conftest.py of your own folder:
    from tests.lab.conftest import lab, lab_database, lab_repository, pem, soon  # noqa: F401
    from tests.lab.runner import Answer
    from tests.lab.values import Values

    def test_a_worse_head_fails(lab):
        bench = lab(Answer(Values(head=1.6)), trouble="twice")
        number = bench.red_pull()            # a pull request of `feature`, its red job, all that follows
        assert bench.kinds() == ["regression"]
        bench.say(number, "/rerun-kl")       # as dev-a, who may write; who="stranger-c" may not
        bench.wait()                         # until deliveries, reruns and workflows are over
        assert_once(bench)
        assert_ended(bench)

`lab(*answers, trouble=…, repository=…, people={login: role}, app={…}, **settings)`: trouble is None, "twice"
or "lost_answers"; `answers[n]` is what round n of each investigation brings (`tests.lab.runner.Answer`);
settings are fields of `bot.triage.settings.Settings`. Healthy code (`Answer()`) ends in a bump 0.003 -> 0.004
after one round.

Look at it with `bench.comments(number)`, `sticky`, `checks(sha)`, `bumps()`, `requests()` (one request id a
dispatched run), `kinds()`, `codes()` (decisions), `store`, `world` (all of the stand-in; its `before` and
`after` hooks make it misbehave). Do things with `push(branch, {path: text})`, `red(number)`, `people.edit /
close / ask / control`, `stop_bot()` and `start_bot()`. `bench.around = f` runs every durable step as
`f(name, step)`.
"""
