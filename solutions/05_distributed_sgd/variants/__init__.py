"""Right answers to the TODOs of lab 05, and known mistakes, one module per TODO; see `autograde.labs.variants`."""

# Where the mistakes are known from.
SOURCES = {
    "means": "https://github.com/horovod/horovod/issues/843",
    "average": "https://horovod.readthedocs.io/en/stable/api.html#module-horovod.torch",
    "join": "https://github.com/horovod/horovod/issues/832",
    "precision": "https://pytorch.org/docs/stable/generated/torch.tensor.html",
    "calculus": "Lab 01, on the gradient of a squared error",
    "broadcast": "https://github.com/horovod/horovod/issues/672",
    "apart": "https://github.com/horovod/horovod/issues/854",
    "batch": "https://github.com/horovod/horovod/issues/1542",
    "order": "https://github.com/pytorch/pytorch/issues/31771",
    "local": "McMahan and others 2017, Communication-Efficient Learning (local steps, averaged parameters)",
    "schedule": "https://github.com/horovod/horovod/issues/88",
    "nan": "https://github.com/open-mmlab/mmdetection/issues/1710",
    "scaling": "Goyal and others 2017, Accurate, Large Minibatch SGD",
    "turns": "https://github.com/sql-machine-learning/elasticdl/issues/1095",
    "probe": "https://github.com/open-mpi/ompi/issues/3807",
    "server": "Li and others 2014, Scaling Distributed Machine Learning with the Parameter Server",
    "buffers": "https://mpi4py.readthedocs.io/en/stable/tutorial.html#point-to-point-communication",
    "local rank": "https://github.com/horovod/horovod/issues/1025",
    "null": "https://github.com/apache/mxnet/issues/6",
    "hash": "https://github.com/pytorch/pytorch/issues/173687",
    "levels": "https://mpitutorial.com/tutorials/introduction-to-groups-and-communicators/",
}
