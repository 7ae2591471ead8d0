"""A server of jobs that runs them here, at once, and remembers what it was asked."""

import os
import shutil
import subprocess
import sys
from types import SimpleNamespace


class FakeClient:
    """What of Ray's JobSubmissionClient is used; a job ends before `submit_job` returns."""

    def __init__(self, home, run=True):
        self.home, self.run = home, run
        self.jobs, self.text, self.asked = {}, {}, []

    def submit_job(self, *, entrypoint, submission_id, runtime_env, metadata):
        folder = self.home / submission_id
        shutil.copytree(runtime_env["working_dir"], folder)
        self.asked.append((entrypoint, runtime_env, sorted(p.name for p in folder.rglob("*"))))
        code, text = 0, ""
        if self.run:
            done = subprocess.run(
                entrypoint.replace("exec python ", f"exec {sys.executable} "), shell=True,
                cwd=folder, env=os.environ | runtime_env["env_vars"],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            code, text = done.returncode, done.stdout
        self.text[submission_id] = text
        self.jobs[submission_id] = SimpleNamespace(
            submission_id=submission_id, job_id=None, metadata=metadata,
            status="SUCCEEDED" if code == 0 else "FAILED", driver_exit_code=code,
            start_time=1000 * (1 + len(self.jobs)), end_time=None, message=None,
        )  # fmt: skip

    def list_jobs(self):
        other = SimpleNamespace(submission_id="other", job_id="1", metadata=None, status="RUNNING",
                                start_time=9, end_time=None, message=None)  # fmt: skip
        return [other, *self.jobs.values()]

    def get_job_info(self, id):
        if id not in self.jobs:
            raise RuntimeError(f"Request failed with status code 404: Job {id} does not exist")
        return self.jobs[id]

    def get_job_logs(self, id):
        return self.text[id]

    async def tail_job_logs(self, id):
        for line in self.text[id].splitlines(keepends=True):
            yield line

    def stop_job(self, id):
        self.jobs[id].status = "STOPPED"
