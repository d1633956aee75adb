"""Secrets in a text: where they are, and the text with a mask in the place of each.

`rule` is what a rule is, `providers` the table of tokens that services issue, `keys` private keys and seed phrases,
`numbers` payment cards, `surroundings` what stands in addresses, headers, command lines and configuration files,
`named` values whose name says that they are secret, `placeholders` values that cannot be one, `checksums` the
arithmetic, and `masking` puts them together. Only the Python standard library is used.
"""

from assay.text.secrets.masking import KINDS, Held, find_in_json, find_secrets, mask_json, mask_text

__all__ = ["KINDS", "Held", "find_in_json", "find_secrets", "mask_json", "mask_text"]
