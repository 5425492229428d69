import sys

from runners.reference.measure import PROJECT

# The reference project is no part of our packages: it is found the way its own CI finds it.
sys.path.insert(0, str(PROJECT))
