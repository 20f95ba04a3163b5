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

    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    /// The quoted name of a table.
    pub(super) fn table(&self, name: &str) -> String {
        format!("\"{}\".\"{}{name}\"", self.schema, self.prefix)
    }

    /// Fills the names into a template: `@name` is a table, `@-name` the name of an index, `@@` the schema. Every statement
    /// travels with its text, so line breaks and indents become one space.
    pub(super) fn fill(&self, template: &str) -> String {
        let template = template.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut text = String::with_capacity(template.len() + 256);
        let mut parts = template.split('@');
        text.push_str(parts.next().unwrap_or_default());
        let mut schema = false;
        for part in parts {
            if part.is_empty() && !schema {
                // The first of two signs.
                schema = true;
                continue;
            }
            if std::mem::take(&mut schema) {
                text.extend(["\"", &self.schema, "\"", part]);
                continue;
            }
            let (part, index) = part.strip_prefix('-').map_or((part, false), |part| (part, true));
            let end = part.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            if index {
                text.extend(["\"", &self.prefix, name, "\""]);
            } else {
                text.push_str(&self.table(name));
            }
            text.push_str(rest);
        }
        text
    }
}
