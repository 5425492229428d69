"""kl-triage: when a KL test goes red, is it noise or a regression?"""

__version__ = "0.1.0"
