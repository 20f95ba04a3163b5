/**
 * The types of a contract's calls. The build generates their fields and their responses in `calls.generated.ts` from
 * the types `Call` and `Responses` of each contract in the engine. A field that the engine does not know, or a missing
 * field, does not compile.
 */

/** The names of the calls. `Call` has a member for each call: the name, and the fields. */
type NameOf<Call> = Call extends unknown ? keyof Call : never;

/** The fields of a call. */
type FieldsOf<Call, Name> = Call extends unknown ? (Name extends keyof Call ? Call[Name] : never) : never;

/** An object type with exactly these names as keys. */
type Exactly<Name extends PropertyKey, T> = { [K in Name | keyof T]: K extends Name ? unknown : never };

/** Methods with the fields of the calls, and with their responses. Does not compile if a call has no response. */
export type CallsOf<Call, Responses extends Exactly<NameOf<Call>, Responses>> = {
  [K in NameOf<Call> & keyof Responses]: (fields: FieldsOf<Call, K>) => Responses[K];
};
