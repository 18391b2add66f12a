//! `spillway policy`: check, show, apply.

use std::io::Read;
use std::path::Path;

use spillway_app::ports::{SettingsSource, StoredPolicy};
use spillway_app::replace_policy::{Replacement, replace_policy};
use spillway_aws::clients::Sdk;
use spillway_aws::config::Tables;
use spillway_aws::dynamodb_policy_store::DynamoDbPolicyStore;
use spillway_domain::policy::{Policy, Removed};
use spillway_policy::PolicyErrors;

use crate::Verdict;
use crate::arguments::{PolicyCommand, TableOptions};
use crate::failure::Failure;
use crate::terminal::{print, tell};

/// Carries a command on the policy out.
///
/// # Errors
/// A file or a table that cannot be read or written.
pub async fn run(command: PolicyCommand) -> Result<Verdict, Failure> {
    match command {
        PolicyCommand::Check { file } => check(&file),
        PolicyCommand::Show { tables } => show(tables).await,
        PolicyCommand::Apply { file, tables } => apply(&file, tables).await,
    }
}

fn check(file: &Path) -> Result<Verdict, Failure> {
    let text = read(file)?;
    match spillway_policy::parse_with(&text, spillway_template::check) {
        Ok(policy) => {
            print(&format!("{}: {}\n", file.display(), contents(&policy)))?;
            Ok(Verdict::InOrder)
        }
        Err(errors) => {
            tell_errors(file, &errors);
            Ok(Verdict::NotInOrder)
        }
    }
}

async fn show(tables: TableOptions) -> Result<Verdict, Failure> {
    let stored = store(tables).await.stored_policy().await;
    let stored =
        stored.map_err(|error| Failure::of(&error).about("the stored policy cannot be read"))?;
    if let Some(StoredPolicy { version, text }) = stored {
        tell(&format!("version {version}"));
        print(&text)?;
    } else {
        tell("none is stored; the compiled-in policy is in force");
        print(spillway_policy::DEFAULT)?;
    }
    Ok(Verdict::InOrder)
}

async fn apply(file: &Path, tables: TableOptions) -> Result<Verdict, Failure> {
    let text = read(file)?;
    if let Err(errors) = spillway_policy::parse_with(&text, spillway_template::check) {
        tell_errors(file, &errors);
        return Ok(Verdict::NotInOrder);
    }
    let (store, compiled_in) = (store(tables).await, spillway_policy::default_policy());
    let replacement = replace_policy(&store, &text, &compiled_in, parse).await;
    let replacement = replacement.map_err(|error| Failure::of(&error))?;
    if let Replacement::Stored { unreadable_before: Some(reason), .. } = &replacement {
        let first_line = reason.lines().next().unwrap_or_default();
        tell(&format!("warning: the policy before it could not be read: {first_line}"));
    }
    match outcome(&replacement) {
        Ok(words) => print(&(words + "\n")).map(|()| Verdict::InOrder),
        Err(words) => {
            tell(&format!("error: {words}"));
            Ok(Verdict::NotInOrder)
        }
    }
}

fn parse(text: &str) -> Result<Policy, String> {
    let read = spillway_policy::parse_with(text, spillway_template::check);
    read.map_err(|errors| errors.to_string())
}

/// Puts into words what became of a new policy; an error when it was not stored.
fn outcome(replacement: &Replacement) -> Result<String, String> {
    match replacement {
        Replacement::Stored { version, removed, .. } if removed.is_empty() => {
            Ok(format!("version {version} is in force within a minute"))
        }
        Replacement::Stored { version, removed, .. } => {
            let removed = names(removed);
            Ok(format!("version {version} is in force within a minute; it takes away {removed}"))
        }
        Replacement::Unchanged { version } => {
            Ok(format!("version {version} is this very policy; nothing was stored"))
        }
        Replacement::InUse { job_id, removed } => {
            let removed = names(removed);
            Err(format!("it takes away {removed}, but job {job_id} waits for that"))
        }
        Replacement::Overtaken => {
            Err("another policy was stored meanwhile; look at it, and apply this again".to_owned())
        }
    }
}

fn names(removed: &Removed) -> String {
    let classes = removed.classes.iter().map(|name| format!("class {name}"));
    let channels = removed.channels.iter().map(|name| format!("channel {name}"));
    classes.chain(channels).collect::<Vec<_>>().join(", ")
}

fn contents(policy: &Policy) -> String {
    let counted = |count: usize, one: &str, many: &str| {
        if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
    };
    let classes = counted(policy.classes.len(), "class", "classes");
    let channels = counted(policy.channels.len(), "channel", "channels");
    format!("in order, with {classes} and {channels}")
}

/// Tells each error as editors and compilers do: file, line, what it is.
fn tell_errors(file: &Path, errors: &PolicyErrors) {
    for error in errors.as_slice() {
        let (line, path, message) = (error.line, &error.path, &error.message);
        let space = if path.is_empty() { "" } else { " " };
        tell(&format!("{}:{line}: {path}{space}{message}", file.display()));
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    let read = if file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    read.map_err(|error| Failure::of(&error).about(&file.display().to_string()))
}

async fn store(tables: TableOptions) -> DynamoDbPolicyStore {
    let TableOptions { control_table, jobs_table } = tables;
    let client = Sdk::load().await.tables();
    DynamoDbPolicyStore::new(client, Tables { jobs: jobs_table, control: control_table })
}

#[cfg(test)]
mod tests {
    use spillway_domain::name::{ChannelName, ClassName, JobId};

    use super::*;

    fn removed() -> Removed {
        Removed {
            classes: vec![ClassName::new("digest").unwrap(), ClassName::new("sync").unwrap()],
            channels: vec![ChannelName::new("bus").unwrap()],
        }
    }

    #[test]
    fn a_policy_that_was_stored_is_told_with_what_it_takes_away() {
        let unreadable_before = None;
        let stored = Replacement::Stored { version: 4, removed: removed(), unreadable_before };
        let expected = "version 4 is in force within a minute; \
                        it takes away class digest, class sync, channel bus";
        assert_eq!(outcome(&stored), Ok(expected.to_owned()));
    }

    #[test]
    fn a_policy_that_was_not_stored_is_told_with_the_reason() {
        let job_id = JobId::new("j-1").unwrap();
        let in_use = Replacement::InUse { job_id, removed: removed() };
        let expected =
            "it takes away class digest, class sync, channel bus, but job j-1 waits for that";
        assert_eq!(outcome(&in_use), Err(expected.to_owned()));
        assert!(outcome(&Replacement::Overtaken).is_err());
    }
}
