"""Work in parts: one protocol for threads, processes and a Dask cluster.

- `jobs`: the protocol of executors, what a job is, and the executor of threads.
- `dispatch`: hands items to workers, a bounded number at a time, and takes them back from workers that are lost.
- `worker`: what runs inside a worker: opens a job once, performs batches of it.
- `processes`: workers as processes of this machine.
- `dask_cluster`: workers of a Dask cluster; needs the extra "distributed".

Results, and whatever is computed from them, do not depend on the executor: an item is performed by the same code
wherever it runs, and nothing is drawn by lot from the worker or the order. Everything is written by the caller alone.
"""
