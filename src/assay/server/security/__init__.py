"""What stands in front of every route. `guard` asks the others in turn; nothing gets past it unasked.

`hosts`: is it meant for us, and does a page of ours send it? `policies`: what does the route need? `callers`: who is
it? `rates`: not too often? `csrf`: does a form of ours send it? `headers`: what browsers are told. `login`: how a
browser gets its cookie.
"""
