"""The truth audit: everything a user can set or store changes something a user can see.

An item is a feature flag, a setting, a field of a request, a field of a dataset, or a column of the store. Each item
has one probe: it makes data on which the item matters, does the same thing with two values of the item, and gives what
a user sees of both. The first value is tried twice: an output that differs by itself proves nothing.

- `items`: every item there is, read from the code that defines it.
- `probing`: what a probe is, what it needs, and its verdict.
- `flags`, `settings`, `datasets`, `fields`, `columns`: the probes of each kind.
- `lifetime`: the life of a store in which every column gets a value; `columns` changes one value after the other.
- `exemptions`: items that cannot be probed alone, with the reason; and items that are known to have no effect yet.
- `test_truth`: every item has a probe, and every probe shows an effect.

To add an item: add its probe to the module of its kind. The test names every item that has none.

`python -m tests.truth` prints how many items of each kind there are, and how many of them have no effect.
"""
