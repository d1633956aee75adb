"""What the GitHub Action of the repository's root runs."""
