//! The TypeScript types of the calls, made from the Rust types of their fields and responses. Only development builds
//! contain them. `scripts/calls.mjs` writes them to a file.

#[cfg(debug_assertions)]
use std::any::TypeId;
use std::fmt::Write;

use ts_rs::TS;
#[cfg(debug_assertions)]
use ts_rs::{Config, TypeVisitor};

/// The types of a contract's messages. Has no size in a release build.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallTypes {
    #[cfg(debug_assertions)]
    declare: Option<fn() -> String>,
}

impl CallTypes {
    /// A contract without calls.
    pub(super) const NONE: Self = Self {
        #[cfg(debug_assertions)]
        declare: None,
    };

    /// The types of the calls of this enum, and of their responses. `Responses` has a field for each call, with the name
    /// of the call and the type of the response. `()` becomes null.
    pub(super) const fn of<Call: TS + 'static, Responses: TS + 'static>() -> Self {
        Self::tool::<(), Call, Responses>()
    }

    /// The types of a tool: its selecting argument, its calls, and its answers.
    pub(super) const fn tool<Which: TS + 'static, Call: TS + 'static, Answer: TS + 'static>() -> Self {
        Self {
            #[cfg(debug_assertions)]
            declare: Some(declare::<Which, Call, Answer>),
        }
    }

    #[cfg(debug_assertions)]
    fn declarations(self) -> Option<String> {
        self.declare.map(|declare| declare())
    }

    #[cfg(not(debug_assertions))]
    fn declarations(self) -> Option<String> {
        None
    }
}

/// Returns the types of these contracts as TypeScript: one namespace for each contract with calls. It has the
/// types `Call` and `Responses`, and an inner namespace with the types of its tool.
pub(super) fn module(contracts: impl Iterator<Item = (&'static str, CallTypes, CallTypes)>) -> String {
    let mut text = String::from(
        "// Made by scripts/calls.mjs from the engine's types `Call` and `Responses` of each contract.\n\n\
         /** An integer of 64 bits. One that a double cannot hold is a text with its digits. */\n\
         type Exact = number | string;\n",
    );
    for (name, calls, tool) in contracts {
        let tool = tool.declarations().map(|types| format!("export namespace tool {{\n{types}}}\n"));
        let declarations: String = calls.declarations().into_iter().chain(tool).collect();
        if !declarations.is_empty() {
            let _ = write!(text, "\nexport declare namespace {} {{\n{declarations}}}\n", name.replace('-', "_"));
        }
    }
    text
}

/// Returns the declarations of these types and of the types that they use.
#[cfg(debug_assertions)]
fn declare<Which: TS + 'static, Call: TS + 'static, Answer: TS + 'static>() -> String {
    let (mut given, mut answered) = (Declared::new(), Declared::new());
    given.visit::<Which>();
    given.visit::<Call>();
    answered.visit::<Answer>();
    // A caller gives undefined for a field that is `None`, and an answer has null. A type of both allows both. A field
    // that may be null in a call has a type `null | ...`.
    for (id, text) in &mut given.types {
        let none = if answered.has(*id) { " | null | undefined," } else { " | undefined," };
        *text = text.replace(" | null,", none);
    }
    answered.types.retain(|(id, _)| !given.has(*id));
    let mut types: Vec<String> = given.types.into_iter().chain(answered.types).map(|(_, text)| text).collect();
    types.sort();
    types.concat()
}

#[cfg(debug_assertions)]
struct Declared {
    config: Config,
    types: Vec<(TypeId, String)>,
}

#[cfg(debug_assertions)]
impl Declared {
    fn new() -> Self {
        Self { config: Config::new().with_large_int("number"), types: Vec::new() }
    }

    fn has(&self, id: TypeId) -> bool {
        self.types.iter().any(|(declared, _)| *declared == id)
    }
}

#[cfg(debug_assertions)]
impl TypeVisitor for Declared {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        // One declaration serves all forms of a generic type.
        let id = TypeId::of::<T::WithoutGenerics>();
        // Types without a path are Rust's own.
        if T::output_path().is_none() || self.has(id) {
            return;
        }
        let docs = T::docs().unwrap_or_default();
        self.types.push((id, format!("{docs}export {}\n", T::decl(&self.config))));
        T::visit_dependencies(self);
    }
}
