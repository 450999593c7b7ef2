"""The decision core: plain values and the time in, one decision out.

No Django, no clock, no network, no chance. Everything here can be tested over its whole domain, and is.
"""
