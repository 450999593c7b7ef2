"""Things that tests start and talk to."""
