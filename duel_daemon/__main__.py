"""`python -m duel_daemon` is the same as `duel-daemon`."""

from duel_daemon.cli import main

if __name__ == "__main__":
    main()
