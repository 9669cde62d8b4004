//! Files for engines that exist: each starts `nrv fleet work` once a task, and nrv itself schedules nothing.

use base::text::shell_word;

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Engine {
    /// GNU parallel, on one machine or on several by ssh.
    Parallel,
    /// A Slurm array job.
    Slurm,
    /// A Kubernetes Indexed Job.
    Kubernetes,
    /// A matrix of GitHub Actions.
    Actions,
    /// HyperQueue.
    #[value(name = "hyperqueue")]
    HyperQueue,
}

/// The most jobs of an array: the usual bound of Slurm's `MaxArraySize`, that of a matrix of GitHub Actions, and that of an Indexed Job with a
/// limit for each index.
const MOST_SLURM: usize = 1000;
const MOST_ACTIONS: usize = 256;
const MOST_KUBERNETES: usize = 10_000;

/// The most characters of a fleet's name in the name of a Kubernetes Job, whose pods get names that are longer.
const MOST_NAME: usize = 40;

/// The facts of a submission.
#[derive(Clone, Debug)]
pub struct Submission<'s> {
    /// The fleet's name.
    pub fleet: &'s str,
    /// The first digits of the plan's hash.
    pub digits: &'s str,
    /// The path of the plan, as the workers see it.
    pub plan: &'s str,
    /// How many tasks it has.
    pub tasks: usize,
    /// Further options of the workers, each with a space before it.
    pub more: &'s str,
    /// How many tasks are done at the same time.
    pub jobs: usize,
    /// The image of the workers, for Kubernetes.
    pub image: &'s str,
    /// The claim of the volume that holds the plan and the store, for Kubernetes.
    pub volume: &'s str,
}

/// A file that an engine takes, and the words that hand it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The end of the file's name, after that of the plan.
    pub name: &'static str,
    /// Its text.
    pub text: String,
    /// The program that takes it, with its arguments before the file; none if a person does.
    pub submit: &'static [&'static str],
}

impl Engine {
    /// The file for a submission.
    pub fn job(self, submission: &Submission<'_>) -> Job {
        match self {
            Engine::Parallel => parallel(submission),
            Engine::Slurm => slurm(submission),
            Engine::Kubernetes => kubernetes(submission),
            Engine::Actions => actions(submission),
            Engine::HyperQueue => hyperqueue(submission),
        }
    }
}

/// A text as a string of YAML, which is one of JSON.
fn yaml(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn parallel(at: &Submission<'_>) -> Job {
    let (plan, last, jobs) = (shell_word(at.plan), at.tasks.saturating_sub(1), at.jobs);
    // The program joins the words of a command, and gives them to a shell again.
    let text = format!(
        "#!/bin/sh\n# A task that could not be done now is tried again; one that is done already ends at once.\n\
         NRV_PLAN={plan}\nexport NRV_PLAN\n\
         seq 0 {last} | parallel --jobs {jobs} --retries 3 --joblog \"$NRV_PLAN.joblog\" 'nrv fleet work \"$NRV_PLAN\" --index {{}}{more}'\n",
        more = at.more
    );
    Job { name: "parallel.sh", text, submit: &[] }
}

fn slurm(at: &Submission<'_>) -> Job {
    let each = at.tasks.div_ceil(MOST_SLURM).max(1);
    let last = at.tasks.div_ceil(each).saturating_sub(1);
    let text = format!(
        "#!/bin/bash\n#SBATCH --job-name=nrv-{fleet}\n#SBATCH --array=0-{last}%{jobs}\n#SBATCH --requeue\n#SBATCH --open-mode=append\n\
         # A job whose node was lost is started again. Its task is taken over: Slurm starts it nowhere else.\n\
         exec nrv fleet work {plan} --index-env SLURM_ARRAY_TASK_ID --each {each} --take-over{more}\n",
        more = at.more,
        fleet = at.fleet,
        jobs = at.jobs,
        plan = shell_word(at.plan),
    );
    Job { name: "slurm.sh", text, submit: &["sbatch"] }
}

fn hyperqueue(at: &Submission<'_>) -> Job {
    let (plan, last) = (shell_word(at.plan), at.tasks.saturating_sub(1));
    let text = format!(
        "#!/bin/sh\nexec hq submit --name nrv-{} --array 0-{last} --crash-limit 5 -- nrv fleet work {plan} --index-env HQ_TASK_ID --take-over{}\n",
        at.fleet, at.more
    );
    Job { name: "hyperqueue.sh", text, submit: &["sh"] }
}

/// A name of letters, digits and `-` that begins and ends with one of the former, and differs from plan to plan and for canaries.
fn kubernetes_name(at: &Submission<'_>) -> String {
    let fleet = at.fleet.to_ascii_lowercase().replace(['_', '.'], "-");
    let fleet = fleet.get(..MOST_NAME).unwrap_or(&fleet);
    let canary = if at.more.is_empty() { "" } else { "-canary" };
    format!("nrv-{}-{}{canary}", fleet.trim_matches('-'), at.digits)
}

fn kubernetes(at: &Submission<'_>) -> Job {
    let each = at.tasks.div_ceil(MOST_KUBERNETES).max(1);
    let indexes = at.tasks.div_ceil(each);
    let text = format!(
        "apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completionMode: Indexed
  completions: {indexes}
  parallelism: {jobs}
  backoffLimitPerIndex: 3
  maxFailedIndexes: {indexes}
  podFailurePolicy:
    rules:
      # Whatever became of the task is in the store; only what is temporary is tried again.
      - action: FailIndex
        onExitCodes: {{containerName: nrv, operator: In, values: [1, 2, 3, 4, 5, 6, 7, 70]}}
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: nrv
          image: {image}
          args: [fleet, work, {plan}, --index-env, JOB_COMPLETION_INDEX, --each, \"{each}\", --take-over{more}]
          # Keys of a bucket, if the results are in one.
          envFrom:
            - secretRef: {{name: nrv-fleet, optional: true}}
          volumeMounts:
            - {{name: fleet, mountPath: /fleet}}
      volumes:
        - name: fleet
          persistentVolumeClaim: {{claimName: {volume}}}
",
        more = at.more.split_whitespace().map(|word| format!(", {}", yaml(word))).collect::<String>(),
        name = yaml(&kubernetes_name(at)),
        indexes = indexes,
        jobs = at.jobs.min(indexes),
        image = yaml(at.image),
        plan = yaml(at.plan),
        volume = yaml(at.volume),
    );
    Job { name: "kubernetes.yaml", text, submit: &["kubectl", "create", "-f"] }
}

fn actions(at: &Submission<'_>) -> Job {
    let each = at.tasks.div_ceil(MOST_ACTIONS).max(1);
    let indexes: Vec<String> = (0..at.tasks.div_ceil(each)).map(|n| n.to_string()).collect();
    let text = format!(
        "name: {name}
on: workflow_dispatch
permissions:
  contents: read
jobs:
  work:
    # The store has to be one that all runners reach.
    runs-on: [self-hosted, linux]
    strategy:
      fail-fast: false
      max-parallel: {jobs}
      matrix:
        index: [{indexes}]
    env:
      NRV_PLAN: {plan}
    steps:
      - run: nrv fleet work \"$NRV_PLAN\" --index ${{{{ matrix.index }}}} --each {each}{more}
",
        more = at.more,
        name = yaml(&format!("fleet {}", at.fleet)),
        jobs = at.jobs,
        indexes = indexes.join(", "),
        plan = yaml(at.plan),
    );
    Job { name: "actions.yml", text, submit: &[] }
}
