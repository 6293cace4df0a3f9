//! The environment variables with the prefix: whose they are, and whether their names are known.

use crate::problem::problem;
use crate::settings::{NAMES, PREFIX};
use crate::token::mask_problem;
use crate::types::Problem;

/// The names of the accounts, separated by commas.
const ACCOUNTS: &str = "ACCOUNTS";

const MAX_ACCOUNTS: usize = 100;

/// What others read with the same prefix: the deployment of `engines/obelisk`, and, the last two,
/// the tests of this repository.
const OTHERS: [&str; 12] = [
    "CONTACTS_ORIGIN",
    "DO_NOT_CALL_ORIGIN",
    "DO_NOT_CALL_URL",
    "HAND_OFF_ORIGIN",
    "HAND_OFF_TOKEN",
    "HAND_OFF_URL",
    "HOLD",
    "OPERATOR_TOKEN",
    "ORIGIN",
    "WEBHOOK_SECRET",
    "TARBALL",
    "TARGET",
];

/// The length at which an error cuts a name or a value.
const SHOWN_BYTES: usize = 64;

/// The variables with the prefix, which is removed from their names.
pub(crate) struct Variables(Vec<(String, String)>);

impl Variables {
    pub(crate) fn of(environment: impl IntoIterator<Item = (String, String)>) -> Self {
        let variables = environment.into_iter().filter_map(|(name, value)| {
            let name = name.strip_prefix(PREFIX)?;
            Some((name.to_owned(), value))
        });
        Self(variables.collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        // The last value counts: hosts inherit an environment and add to it.
        let mut latest_first = self.0.iter().rev();
        let variable = latest_first.find(|(variable, _)| variable == name)?;
        Some(&variable.1)
    }

    /// Masks the tokens of all accounts, valid or not.
    pub(crate) fn mask(&self, problem: Problem) -> Problem {
        let variables = self.0.iter();
        let tokens = variables.filter(|(name, _)| name.ends_with("API_TOKEN"));
        tokens.fold(problem, |problem, (_, token)| mask_problem(problem, token))
    }

    /// Returns the names of the accounts, and checks that all variables are known.
    pub(crate) fn accounts(&self) -> Result<Vec<String>, Problem> {
        let known = [ACCOUNTS].into_iter().chain(NAMES);
        let mut known: Vec<_> = known.map(str::to_owned).collect();
        let list = self.get(ACCOUNTS);
        let accounts = list.iter().flat_map(|list| list.split(','));
        let accounts: Vec<_> = accounts.map(str::to_owned).collect();
        if accounts.len() > MAX_ACCOUNTS {
            let found = format!("{} names", accounts.len());
            let allowed = format!("at most {MAX_ACCOUNTS}");
            return Err(setting_problem(ACCOUNTS, found, allowed));
        }
        for account in &accounts {
            if !is_name(account) {
                let found = shown(list.unwrap_or_default());
                let allowed = "names of lower-case letters, digits and hyphens that begin with a letter, separated by commas";
                return Err(setting_problem(ACCOUNTS, found, allowed));
            }
            let own = NAMES.map(|setting| prefix_of(account) + setting);
            if let Some(ambiguous) = own.iter().find(|variable| known.contains(variable)) {
                let found = format!("{account:?}, which makes {PREFIX}{ambiguous} ambiguous");
                return Err(setting_problem(ACCOUNTS, found, "another name"));
            }
            known.extend(own);
        }
        let mut names = self.0.iter().map(|(name, _)| name);
        let is_known = |name: &String| {
            known.contains(name) || OTHERS.contains(&name.as_str()) || is_of_kubernetes(name)
        };
        match names.find(|name| !is_known(name)) {
            Some(unknown) => Err(unknown_setting(unknown, &known)),
            None => Ok(accounts),
        }
    }
}

fn is_name(account: &str) -> bool {
    let follows = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    account.starts_with(|c: char| c.is_ascii_lowercase()) && account.chars().all(follows)
}

/// Returns the prefix of an account's own variables, such as `ALPHA_`.
pub(crate) fn prefix_of(account: &str) -> String {
    format!("{}_", account.to_ascii_uppercase().replace('-', "_"))
}

/// Returns `true` for a variable that Kubernetes sets for a service whose name begins with
/// `voice-calling`, such as `VOICE_CALLING_MOCK_PORT_8080_TCP_ADDR`.
fn is_of_kubernetes(name: &str) -> bool {
    let words: Vec<_> = name.split('_').collect();
    let mut pairs = words.windows(2);
    words.ends_with(&["PORT"])
        || pairs.any(|pair| match pair {
            ["SERVICE", "HOST" | "PORT"] => true,
            ["PORT", number] => number.parse::<u16>().is_ok(),
            _ => false,
        })
}

/// Returns the problem of a variable that is not known. It names the nearest one that is.
fn unknown_setting(name: &str, known: &[String]) -> Problem {
    let upper = cut(name).to_ascii_uppercase();
    let nearest = known
        .iter()
        .min_by_key(|known| edit_distance(&upper, known));
    let is_of_account = |setting: &&str| {
        let prefix = name.strip_suffix(*setting).unwrap_or_default();
        prefix.len() > 1 && prefix.ends_with('_')
    };
    let or_account = match NAMES.iter().any(is_of_account) {
        true => ", or its account in VOICE_CALLING_ACCOUNTS",
        false => "",
    };
    let allowed = format!("{PREFIX}{}{or_account}", nearest.map_or("", |name| name));
    setting_problem(name, "an unknown setting", allowed)
}

/// Returns the number of characters to insert, remove or replace (the Levenshtein distance).
fn edit_distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, a) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, b) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

/// Returns a value as an error shows it.
pub(crate) fn shown(value: &str) -> String {
    let kept = cut(value);
    let mark = if kept.len() < value.len() { "…" } else { "" };
    format!("{kept:?}{mark}")
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(SHOWN_BYTES)]
}

pub(crate) fn setting_problem(
    name: &str,
    found: impl Into<String>,
    allowed: impl Into<String>,
) -> Problem {
    problem(format!("{PREFIX}{}", cut(name)), found, allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::rows;

    /// Reads the variables of a text such as `A=1 B=2`.
    fn accounts(text: &str) -> Result<Vec<String>, Problem> {
        let variables = text.split_whitespace().map(|variable| {
            let (name, value) = variable.split_once('=').unwrap();
            (format!("{PREFIX}{name}"), value.to_owned())
        });
        Variables::of(variables).accounts()
    }

    /// A name, and the setting that the error names.
    const UNKNOWN: &str = "
        CREATE_RETRIES       | CREATE_RETRY
        create_retry         | CREATE_RETRY
        BASEURL              | BASE_URL
        API_TOKENS           | API_TOKEN
        DEADLINE             | DEADLINE_MS
        _DEADLINE_MS         | DEADLINE_MS
        ACCOUNT              | ACCOUNTS
        REGION               | LOG
                             | LOG
        PORT_HTTP_TCP        | MAX_ATTEMPTS
        ALPHA_CREATE_RETRIES | ALPHA_CREATE_RETRY
        APLHA_API_TOKEN      | ALPHA_API_TOKEN, or its account in VOICE_CALLING_ACCOUNTS
        PROD_BASE_URL        | BASE_URL, or its account in VOICE_CALLING_ACCOUNTS";

    #[test]
    fn an_unknown_name_is_refused_and_the_nearest_known_one_is_named() {
        for [name, nearest] in rows(UNKNOWN) {
            let unknown = accounts(&format!("ACCOUNTS=alpha {name}=x")).expect_err(name);
            let expected =
                setting_problem(name, "an unknown setting", format!("{PREFIX}{nearest}"));
            assert_eq!(unknown, expected);
        }
        let long = accounts(&format!("{}=x", "\u{e4}".repeat(100))).unwrap_err();
        assert_eq!(long.subject, format!("{PREFIX}{}", "\u{e4}".repeat(32)));
    }

    #[test]
    fn variables_of_others_are_ignored() {
        // Kubernetes sets these for services named `voice-calling` and `voice-calling-mock`.
        let of_kubernetes = "SERVICE_HOST SERVICE_PORT SERVICE_PORT_HTTP PORT PORT_8080_TCP \
            PORT_8080_TCP_ADDR PORT_8080_TCP_PORT PORT_8080_TCP_PROTO PORT_53_UDP_ADDR \
            MOCK_SERVICE_HOST MOCK_SERVICE_PORT MOCK_PORT MOCK_PORT_8080_TCP_ADDR";
        for name in of_kubernetes.split_whitespace().chain(OTHERS) {
            assert_eq!(accounts(&format!("{name}=x")), Ok(Vec::new()), "{name}");
        }
        let foreign = ["HOME", "voice_calling_log", "VOICE_CALLINGLOG"];
        let foreign = foreign.map(|name| (name.to_owned(), "x".to_owned()));
        assert_eq!(Variables::of(foreign).accounts(), Ok(Vec::new()));
    }

    #[test]
    fn names_of_accounts_are_of_lower_case_letters_digits_and_hyphens() {
        let names = ["a1", "b--"].map(str::to_owned);
        assert_eq!(accounts("ACCOUNTS=a1,b--"), Ok(names.into()));
        for list in [
            "", ",", "alpha,", "Alpha", "1a", "-a", "a_b", "a b", "a, b", "\u{e4}",
        ] {
            let variable = ("VOICE_CALLING_ACCOUNTS".to_owned(), list.to_owned());
            let problem = Variables::of([variable]).accounts().expect_err(list);
            assert_eq!(problem.found, format!("{list:?}"));
        }
    }

    #[test]
    fn a_name_of_an_account_that_makes_a_variable_ambiguous_is_refused() {
        for [list, name, variable] in rows(
            "alpha,alpha | alpha | ALPHA_BASE_URL
             max         | max   | MAX_BACKOFF_MS
             a,a-max     | a-max | A_MAX_BACKOFF_MS
             a-max,a     | a     | A_MAX_BACKOFF_MS",
        ) {
            let found = format!("{name:?}, which makes {PREFIX}{variable} ambiguous");
            let problem = setting_problem(ACCOUNTS, found, "another name");
            assert_eq!(accounts(&format!("ACCOUNTS={list}")), Err(problem));
        }
    }

    #[test]
    fn there_are_at_most_a_hundred_accounts() {
        let named = |count: usize| {
            let names: Vec<_> = (0..count).map(|index| format!("a{index}")).collect();
            accounts(&format!("ACCOUNTS={}", names.join(",")))
        };
        assert_eq!(named(100).map(|names| names.len()), Ok(100));
        let problem = setting_problem(ACCOUNTS, "101 names", "at most 100");
        assert_eq!(named(101), Err(problem));
    }
}
