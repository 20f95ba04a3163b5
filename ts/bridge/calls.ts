/**
 * The types of a contract's calls. The build generates their fields in `calls.generated.ts` from the `enum Call` of
 * each contract in the engine. A field that the engine does not know, or a missing field, does not compile.
 */

/** The names of the calls. `Call` has a member for each call: the name, and the fields. */
type NameOf<Call> = Call extends unknown ? keyof Call : never;

/** The fields of a call. */
type FieldsOf<Call, Name> = Call extends unknown ? (Name extends keyof Call ? Call[Name] : never) : never;

/** An object type with exactly these names as keys. */
type Exactly<Name extends PropertyKey, T> = { [K in Name | keyof T]: K extends Name ? unknown : never };

/** Methods with the fields of the calls, and with these responses. */
export type CallsOf<Call, Responses extends Exactly<NameOf<Call>, Responses>> = {
  [K in NameOf<Call> & keyof Responses]: (fields: FieldsOf<Call, K>) => Responses[K];
};

/** The calls with narrower types for fields that the engine only passes on or whose type in the engine is wider. */
export type Narrowed<Call, Fields> = Call extends unknown
  ? {
      [Name in keyof Call]: {
        [F in keyof Call[Name]]: F extends keyof Fields ? Extract<Fields[F], Call[Name][F]> : Call[Name][F];
      };
    }
  : never;
