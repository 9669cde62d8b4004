//! The files for engines: each is one that its engine takes.

use super::*;

#[test]
fn every_engine_gets_a_file_and_none_is_handed_over_in_a_dry_run() {
    let fleet = Fleet::new();
    for name in ["a", "b", "c"] {
        fleet.repository(name, &[("x.md", "old.example.com\n")]);
    }
    fleet.plan("").exits(0);
    let submitted = |engine: &str, file: &str| {
        let ran =
            fleet.site.nrv(&["fleet", "submit", "plan.jsonl", "--engine", engine, "--jobs", "2", "--dry-run"]).exits(0);
        let file = format!("plan.jsonl.{file}");
        assert!(ran.stdout.trim().ends_with(&file), "{ran:?}");
        String::from_utf8(fleet.site.read(&file)).unwrap()
    };
    let parallel = submitted("parallel", "parallel.sh");
    assert!(parallel.contains("seq 0 2 | parallel --jobs 2"), "{parallel}");
    let slurm = submitted("slurm", "slurm.sh");
    assert!(slurm.starts_with("#!/bin/bash\n#SBATCH --job-name=nrv-links\n#SBATCH --array=0-2%2\n"), "{slurm}");
    submitted("hyperqueue", "hyperqueue.sh");
    for file in ["parallel.sh", "slurm.sh", "hyperqueue.sh"] {
        let checked =
            Command::new("bash").arg("-n").arg(fleet.site.path(&format!("plan.jsonl.{file}"))).output().unwrap();
        assert!(checked.status.success() && checked.stderr.is_empty(), "{file}: {checked:?}");
    }
    let actions = submitted("actions", "actions.yml");
    assert!(
        actions.contains("index: [0, 1, 2]") && actions.contains("--index ${{ matrix.index }} --each 1"),
        "{actions}"
    );
    let refused = ["fleet", "submit", "plan.jsonl", "--engine", "kubernetes", "--dry-run"];
    fleet.site.nrv(&refused).exits(1).says("the store is not in the folder of the plan");
    fleet.plan_of("store = \"results\"", "").exits(0);
    fleet.site.nrv(&refused).exits(1).says("is on this machine");
    fleet.site.write("list", format!("{{\"url\": \"https://example.com/a\", \"commit\": \"{}\"}}\n", "0".repeat(40)));
    fleet.site.nrv(&["fleet", "plan", "--repositories", "list"]).exits(0);
    let kubernetes = submitted("kubernetes", "kubernetes.yaml");
    for words in [
        "completionMode: Indexed",
        "completions: 1",
        "parallelism: 1",
        "args: [fleet, work, \"/fleet/plan.jsonl\", --index-env, JOB_COMPLETION_INDEX, --each, \"1\", --take-over]",
    ] {
        assert!(kubernetes.contains(words), "{words}: {kubernetes}");
    }
}

#[test]
fn a_job_file_does_the_work_of_all_tasks() {
    let fleet = Fleet::new();
    for name in ["a", "b", "c"] {
        fleet.repository(name, &[("x.md", "old.example.com\n")]);
    }
    fleet.plan("").exits(0);
    fleet.site.nrv(&["fleet", "submit", "plan.jsonl", "--engine", "slurm", "--dry-run"]).exits(0);
    // As Slurm starts it: once a number of the array.
    let program = Path::new(crate::repository::nrv()).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for index in ["0", "1", "2"] {
        let worked = Command::new("bash")
            .arg(fleet.site.path("plan.jsonl.slurm.sh"))
            .env("PATH", &path)
            .env("SLURM_ARRAY_TASK_ID", index)
            .current_dir(fleet.beside("repositories"))
            .output()
            .unwrap();
        assert!(worked.status.success(), "{worked:?}");
    }
    let collected = fleet.collected(&[]);
    assert_eq!(kinds(&collected).iter().map(|(_, kind)| kind.as_str()).collect::<Vec<_>>(), ["changed"; 3]);
    // A client that is not there is named, and the file stays.
    let submit = ["fleet", "submit", "plan.jsonl", "--engine", "slurm"];
    let output = fleet.site.command(&submit).env("PATH", "/nonexistent").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("hands it over where the client is"), "{output:?}");
}

#[test]
fn a_path_with_spaces_and_quotes_is_one_word_of_gnu_parallel() {
    if Command::new("sh").args(["-c", "command -v parallel"]).output().unwrap().stdout.is_empty() {
        return crate::support::need::skip("parallel");
    }
    let fleet = Fleet::new();
    for name in ["a", "b"] {
        fleet.repository(name, &[("x.md", "old.example.com\n")]);
    }
    fleet.plan("").exits(0);
    let folder = fleet.beside("it's #1 {}");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(fleet.site.path("plan.jsonl"), folder.join("a plan.jsonl")).unwrap();
    let plan = folder.join("a plan.jsonl");
    fleet.site.nrv(&["fleet", "submit", plan.to_str().unwrap(), "--engine", "parallel"]).exits(0);
    let program = Path::new(crate::repository::nrv()).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let ran = Command::new("sh").arg(folder.join("a plan.jsonl.parallel.sh")).env("PATH", path).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let ran = fleet.site.nrv(&["fleet", "collect", plan.to_str().unwrap(), "--json"]).exits(0);
    assert_eq!(ran.json()["missing"], json!([]));
}

#[test]
fn jobs_fit_the_schemas_of_their_services() {
    let programs = crate::repository::root().join("target/ci/bin");
    if !programs.join("kubernetes-validate").exists() {
        return crate::support::need::skip("ci-schemas");
    }
    let fleet = Fleet::new();
    let list = |n: usize| format!("{{\"url\": \"https://example.com/r{n}\", \"commit\": \"{}\"}}\n", "0".repeat(40));
    fleet.site.write("list", (0..300).map(list).collect::<String>());
    let head = "name = 'The_Links.of-2026'\nstore = 's3://bucket/path'\nscript = 'links.rhai'\nargs = { from = 'x' }\n";
    fleet.site.write("fleet.toml", head);
    fleet.site.nrv(&["fleet", "plan", "--repositories", "list"]).exits(0);
    let fits = |program: &str, arguments: &[&str], file: &Path| {
        let output = Command::new(programs.join(program)).args(arguments).arg(file).output().unwrap();
        (
            output.status.success(),
            [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()),
        )
    };
    let actions: &[&str] = &["--builtin-schema", "vendor.github-workflows"];
    for (engine, program, arguments, right, wrong) in [
        ("kubernetes", "kubernetes-validate", &["--strict"][..], "completions: 300", "completions: many"),
        ("actions", "check-jsonschema", actions, "runs-on:", "run-on:"),
    ] {
        let mut text = String::new();
        for canary in [&["--canary", "5"][..], &[]] {
            let submit = ["fleet", "submit", "plan.jsonl", "--dry-run", "--engine", engine];
            let ran = fleet.site.nrv(&[&submit[..], canary].concat()).exits(0);
            let file = PathBuf::from(ran.stdout.trim());
            let (fits, said) = fits(program, arguments, &file);
            assert!(fits, "{engine}: {said:?}");
            text = std::fs::read_to_string(file).unwrap();
        }
        assert!(text.contains(right), "{text}");
        let file = fleet.beside("wrong.yaml");
        std::fs::write(&file, text.replace(right, wrong)).unwrap();
        assert!(!fits(program, arguments, &file).0, "the schema of {engine} refuses nothing");
    }
}
