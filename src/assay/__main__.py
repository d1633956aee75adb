"""`python -m assay` is `assay`."""

from assay.cli.entry import main

if __name__ == "__main__":
    main()
