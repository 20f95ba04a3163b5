//! The names of the tables.

use super::url::Url;

#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) schema: String,
    pub(super) prefix: String,
}

impl Names {
    pub(super) fn of(url: &Url) -> Self {
        Self { schema: url.schema.clone(), prefix: url.prefix.clone() }
    }

    /// The quoted name of a table.
    pub(super) fn table(&self, name: &str) -> String {
        format!("\"{}\".\"{}{name}\"", self.schema, self.prefix)
    }

    /// Replaces the names in a template: `@name` is a table, `@-name` an index, `@@` the schema. Any other `@` stays,
    /// as part of an operator. Line breaks and indents become one space, because every statement is sent as text.
    pub(super) fn fill(&self, template: &str) -> String {
        let template = template.split_whitespace().collect::<Vec<_>>().join(" ");
        let template = template.replace("@@", &format!("\"{}\"", self.schema));
        let mut parts = template.split('@');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let index = part.strip_prefix('-');
            let part = index.unwrap_or(part);
            let end = part.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            match index {
                Some(_) => text.extend(["\"", &self.prefix, name, "\""]),
                None if name.is_empty() => text.push('@'),
                None => text.push_str(&self.table(name)),
            }
            text.push_str(rest);
        }
        text
    }
}
