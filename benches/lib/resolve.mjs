// Resolves the measured packages to their folders. All savers get the LangGraph of the same folder, as in a user's
// project. A serializer from one copy of LangGraph does not recognize the classes of another copy.
const homes = {};

/** `data` maps a package to its folder in integration/. Called once for each module that registers packages. */
export function initialize(data) {
  Object.assign(homes, data);
}

export function resolve(specifier, context, next) {
  if (!Object.hasOwn(homes, specifier)) return next(specifier, context);
  const from = new URL(`../../integration/${homes[specifier]}/package.json`, import.meta.url);
  return next(specifier, { ...context, parentURL: from.href });
}
