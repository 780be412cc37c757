"""The bench that holds the watch against C programs of somebody else's, here on small ones of our own."""

from __future__ import annotations

import pytest

HEAD = """/* BEGIN_MBI_TESTS
  $ mpirun -np 2 ${EXE}
  | %s
  | what is said of it
END_MBI_TESTS */
#include <mpi.h>
#define N 4
int main(int argc, char **argv) {
  int nprocs = -1, rank = -1;
  int root = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (nprocs < 2)
    printf("too few\\n");
  int *parts = (int*)malloc(sizeof(int) * nprocs), number[N];
  for (int i = 0; i < nprocs; i++) {
    parts[i] = i;
  }
  MPI_Request request = MPI_REQUEST_NULL;
%s
  free(parts);
  MPI_Finalize();
  return 0;
}
"""
PROGRAMS = {
    "ParamMatching_Root_Bcast_nok.c": (
        "ERROR: RootMatching",
        "  root = rank % 2 ? 1 : 0; /* MBIERROR */\n"
        "  MPI_Bcast(number, N, MPI_INT, root, MPI_COMM_WORLD); /* MBIERROR */",
    ),
    "ReqLifecycle_MissingWait_Ibarrier_nok.c": (
        "ERROR: MissingWait",
        "  MPI_Ibarrier(MPI_COMM_WORLD, &request); /* MBIERROR */",
    ),
    "CallOrdering_Ibcast_Barrier_ok.c": (
        "OK",
        "  MPI_Ibcast(&number, N, MPI_INT, root, MPI_COMM_WORLD, &request);\n"
        "  MPI_Wait(&request, MPI_STATUS_IGNORE);\n  MPI_Barrier(MPI_COMM_WORLD);",
    ),
    "P2P_none_ok.c": ("OK", "  MPI_Buffer_attach(parts, 4);"),
}


@pytest.mark.thorough
def test_the_bench_translates_runs_and_counts(bench, tmp_path):
    for name, (error, body) in PROGRAMS.items():
        (tmp_path / name).write_text(HEAD % (error, body))
    rows = {line[:32].strip(): line[32:].split() for line in bench("watch_on_mbi.py", str(tmp_path)).splitlines()}
    assert rows["root differs"] == ["1", "1", "1", "1"]
    assert rows["a wait or a start is missing"] == ["1", "1", "1", "1"]
    assert rows["all that is matched wrongly"] == ["2", "2", "2", "2"]
    assert rows["right programs"][:2] == ["1", "0"]
    assert "not translated, 1: attached" in "\n".join(rows)
