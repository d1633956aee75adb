"""A pipeline of Haystack over Assay's memory, measured."""

from haystack import Pipeline
from hotel import measure, open_memory

from assay.integrations.haystack import AssayRetriever


def make_pipeline() -> Pipeline:
    """Return a pipeline that finds memories; connect a prompt and a generator to its documents."""
    pipeline = Pipeline()
    pipeline.add_component("memory", AssayRetriever(open_memory()))
    return pipeline


if __name__ == "__main__":
    measure("haystack:haystack_memory:make_pipeline?id=rel_path")
