"""Roost's stand-in model: the three providers' wire, one small deterministic brain.

It lets a whole installation be tried, and tested, without a key and without the internet. It
recalls what the conversation holds and invents nothing, so an agent that "remembers" after a
kill really was given its history back. It keeps no state of its own and logs no headers.

Directives in the last user message, for drills:
    Remember: <fact> / The codeword is <x>    confirmed, and recalled when asked for later
    USETOOL <name-part> {json}                calls the first offered tool with that name part
    SLOW <seconds> ...                        (last line) spreads the answer over that time, ≤ 120
    FAIL <status>                             (last line) answers with that HTTP error
"""
