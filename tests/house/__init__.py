"""The conventions, each with the test that keeps it. Few, fast, no cleverness."""
