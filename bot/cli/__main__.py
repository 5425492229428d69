"""`python -m bot.cli`"""

from bot.cli import main

main()
