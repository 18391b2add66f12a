use std::collections::BTreeMap;

use spillway_domain::name::ClassName;
use spillway_domain::precision::Contract;

use crate::findings::Findings;
use crate::section::Section;

const FIELDS: [&str; 5] = [
    "early_seconds",
    "late_seconds",
    "priority",
    "expires_after_seconds",
    "lateness_budget_seconds",
];

/// Reads the classes. Where something is noted as wrong, the answer is a stand-in.
pub(crate) fn contracts(
    root: &Section<'_>,
    findings: &mut Findings<'_>,
) -> BTreeMap<ClassName, Contract> {
    let mut contracts = BTreeMap::new();
    for (name, section) in root.sections("classes", findings) {
        let contract = contract(&section, findings);
        match ClassName::new(name) {
            Ok(name) => {
                contracts.insert(name, contract);
            }
            Err(error) => section.note(format!("is not a name: {error}"), findings),
        }
    }
    contracts
}

fn contract(section: &Section<'_>, findings: &mut Findings<'_>) -> Contract {
    section.refuse_others(&FIELDS, findings);
    let contract = Contract {
        early_seconds: section.required_number("early_seconds", findings),
        late_seconds: section.required_number("late_seconds", findings),
        priority: u8::try_from(section.required_number("priority", findings)).unwrap_or(u8::MAX),
        expires_after_seconds: section.number("expires_after_seconds", findings),
        lateness_budget_seconds: section.required_number("lateness_budget_seconds", findings),
    };
    section.note_problems(contract.problems(), findings);
    contract
}
