// Where the expectations come from.

/** LangGraph's page about stores. */
export const page = "documented: https://docs.langchain.com/oss/javascript/langgraph/stores";

/** The comments of a type in `@langchain/langgraph-checkpoint`. */
export const type = <Name extends string>(name: Name) =>
  `documented: ${name} in @langchain/langgraph-checkpoint` as const;

/** Another tenant's items were found, because a prefix was compared as text. */
export const tenants = "documented: https://github.com/langchain-ai/langgraphjs/issues/2721";

export const inMemory = (what: string) => `framework: InMemoryStore ${what}` as const;
