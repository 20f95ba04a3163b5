// Resolves the measured packages to their folders. Both savers get the LangGraph of the same folder, as in a user's
// project. A serializer from one copy of LangGraph does not recognize the classes of another copy.
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
