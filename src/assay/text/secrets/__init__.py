"""Find secrets in a text and put a mask in the place of each. Only the Python standard library is used.

- `masking`: applies all rules and masks what they find.
- `rules`: what a rule is, and the check whether a value can be a secret at all.
- `needles`: which of many fixed texts a text holds, looked for all at once.
- `formats`: secrets with a format of their own: service tokens, private keys, payment cards.
- `named`: values whose name marks them as secret, such as `DB_PASSWORD=...`.
- `surroundings`: values in places that only a secret can take: headers, command lines, configuration files and code.
- `addresses`: secrets in addresses, cookies and Kubernetes manifests.
"""

from assay.text.secrets.masking import KINDS, Held, find_in_json, find_secrets, mask_json, mask_text

__all__ = ["KINDS", "Held", "find_in_json", "find_secrets", "mask_json", "mask_text"]
