"""Which test runs each command that the pages for readers show in a block."""

from __future__ import annotations

# Pattern of a command --> the file of the test, and the test.
RUN_BY = {
    r"\./lockstep lab": "fresh/test_fresh_systems.py::test_lab_opens_jupyterlab",
    r"\./lockstep lab --ServerApp\.root_dir=\.": (
        "install/test_lockstep.py::test_lab_opens_jupyterlab_on_the_labs_and_passes_its_arguments"
    ),
    r"\./lockstep lab --slides": "browser/test_slides.py::test_slides_go_on_by_key_and_a_cell_runs_on_stage",
    r"\./lockstep setup": "fresh/test_fresh_systems.py::test_a_second_start_has_nothing_to_set_up",
    r"\./lockstep setup --(collect|wheels) .*": (
        "install/test_without_network.py::test_what_was_collected_sets_up_beside_another_pythons_torch"
    ),
    r"\./lockstep doctor": "fresh/test_fresh_systems.py::test_the_doctor_finds_all_that_the_labs_and_grading_need",
    r"sudo \./lockstep doctor --class": (
        "hub/test_doctor_class.py::test_permissions_that_are_wrong_are_mended_by_the_commands_it_prints"
    ),
    r"sudo apt install .*bubblewrap( acl)?": (
        "hub/test_course_folder.py::test_the_packages_of_a_hubs_machine_have_the_programs_that_its_page_uses"
    ),
    r"sudo apt install slurmctld .*": "slurm/test_slurm_local.py::test_missing_packages_are_named",
    r"\./lockstep test( --all)?( --chosen)?( --part 2/8)?( tests/\w+(/test_\w+\.py)?)?": (
        "test_run.py::test_what_passes_alone_is_listed_and_what_fails_again_fails_the_command"
    ),
    r"\./lockstep test( --all)? --lab \w+": (
        "labs/test_one_lab.py::test_the_tests_of_one_lab_are_of_each_kind_and_of_no_other_lab"
    ),
    r"\./lockstep (new|build|bundle)( \w+)?": (
        "browser/test_hub_terminal.py::test_an_instructor_types_the_pages_commands_and_grades_a_lab_made_there"
    ),
    r"\./lockstep mutants \w+": "mutants/test_mutants.py::test_what_keeps_all_points_is_shown_until_it_is_listed",
    r"\./lockstep rewritings \w+": ("mutants/test_rewritings.py::test_the_command_tells_which_rewriting_loses_points"),
    r"(sudo )?\./lockstep hub|git clone … /opt/lockstep && cd /opt/lockstep": (
        "hub/test_hub_of_a_directory.py::test_instructors_land_on_their_courses_and_have_a_shell_each"
    ),
    r"\./lockstep data \S+|export LOCKSTEP_DATA=.*": (
        "course/test_data_fetch.py::"
        "test_the_files_come_whole_from_the_first_mirror_that_has_them_and_are_what_digits_reads"
    ),
    r"\./lockstep (enrol|release|grade|feedback|grades|report|waiting|extend|counts)"
    r"( (?!--no-collect|--slurm|--from)\S+)*|"
    r"nbgrader (release_\w+|db assignment add) \w+( --duedate=.*)?|"
    r"source \.venv/bin/activate": (
        "browser/test_hub_terminal.py::test_an_instructor_types_the_pages_commands_and_grades_a_lab_made_there"
    ),
    r"\./lockstep grade \w+ --from \S+": (
        "grading/test_moodle_zip.py::test_a_class_is_graded_from_it_and_who_is_not_found_is_named"
    ),
    r"\./lockstep grade \w+ --slurm": "slurm/test_array.py::test_scores_and_findings_are_those_of_grading_here",
    r"export LOCKSTEP_HOME=.*|\. \"\$LOCKSTEP_HOME/slurm/site\.sh\"": (
        "slurm/test_batch.py::test_two_folders_up_is_the_clone_whose_site_sh_may_name_a_container"
    ),
    r"sbatch (--nodes 2 --ntasks 8 )?run\.sh": (
        "slurm/test_batch.py::test_a_job_leaves_log_executed_notebook_and_record"
    ),
    r"LAUNCHER=torchrun sbatch run\.sh": (
        "slurm/test_batch.py::test_torchrun_starts_the_ranks_where_that_is_asked_for"
    ),
    r"(sudo )?slurm/local/cluster (start|clean) .*|export SLURM_CONF=.*": (
        "slurm/test_slurm_local.py::test_stop_ends_daemons_and_jobs_and_clean_removes_the_folder"
    ),
    r"\./lockstep book": "lectures/test_site.py::test_search_finds_pages_in_a_folder",
    r"\.venv/bin/python tests/gpu": (
        "install/test_gpu_table.py::test_a_step_that_is_stopped_keeps_its_rows_and_says_why_it_has_no_more"
    ),
    r"python bench/grading\.py .*": "bench/test_short_runs.py::test_the_bench_of_grading_grades_a_class_of_any_lab",
    r"python bench/collectives\.py": "bench/test_short_runs.py::test_the_bench_of_collectives_runs_and_draws",
    r"python bench/world\.py": "bench/test_short_runs.py::test_the_bench_of_the_record_of_calls_runs",
    r"python bench/watch_on_mbi\.py .*|git clone https://github\.com/mquinson/MBI.*|cd MBI/gencodes && .*": (
        "bench/test_watch_on_programs.py::test_the_bench_translates_runs_and_counts"
    ),
    r"nbgrader db student remove ada --force|rm -rf class/.*|python -c \"import sqlite3.*|cd exchange/hpc && .*": (
        "grading/test_taken_out.py::test_after_the_commands_of_the_page_nothing_is_left_of_a_student"
    ),
    r"python bench/term\.py .*": (
        "grading/test_simulated_term.py::test_it_ends_with_each_labs_cost_and_with_nothing_that_is_wrong"
    ),
}
# What no test runs, and why.
NOT_RUN = {
    r"sudo dnf install .*": (
        "is for Rocky 9, and the tests run on Debian; install/test_system.py has the names that `./lockstep` gives"
    ),
    r"chmod go-rwx solutions tests \.git": (
        "an admin types it at a cluster's clone; hub/test_course_folder.py has what the hub does for itself"
    ),
    r"(podman|apptainer) .*": (
        "takes a container builder, and a registry for the image of Debian that it begins with; "
        "fresh/test_container.py follows the Containerfile in a Debian that mmdebstrap makes"
    ),
}
