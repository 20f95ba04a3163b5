const here = globalThis as unknown as Record<string, { prototype?: object } | undefined>;

/**
 * Gives objects of Node's main realm this realm's prototypes. V8's deserializer makes its objects in the main realm.
 * Jest runs each test file in another realm, where `instanceof Date` would be false for them. Returns the same value.
 */
export function adopt<T>(value: T): T {
  // Objects of this realm are the usual case.
  if (value instanceof Object) return value;
  const found = new Set<object>();
  const add = (each: unknown) => typeof each === "object" && each !== null && found.add(each);
  add(value);
  // The loop also visits the objects that are added while it runs.
  for (const object of found) {
    const prototype = here[(Object.getPrototypeOf(object) as object).constructor.name]?.prototype;
    if (prototype !== undefined) Object.setPrototypeOf(object, prototype);
    if (object instanceof Map) for (const entry of object) entry.forEach(add);
    else if (object instanceof Set) object.forEach(add);
    else if (object instanceof Error) add(object.cause);
    else if (!ArrayBuffer.isView(object)) Object.values(object).forEach(add);
  }
  return value;
}
