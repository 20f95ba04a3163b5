// Where the packages that are measured are installed. Both savers get the LangGraph of one folder, as in a user's project:
// a serializer of one copy does not know the classes of another.
const homes = {
  "@langchain/langgraph": "langgraph",
  "@langchain/langgraph-checkpoint": "langgraph",
  "@langchain/langgraph-checkpoint-sqlite": "peers",
};

export function resolve(specifier, context, next) {
  if (!Object.hasOwn(homes, specifier)) return next(specifier, context);
  const from = new URL(`../../integration/${homes[specifier]}/package.json`, import.meta.url);
  return next(specifier, { ...context, parentURL: from.href });
}
