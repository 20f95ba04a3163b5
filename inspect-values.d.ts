/**
 * The JSON form of values, paths into it, and texts that are safe to show. `forkpoint/inspect` exports them.
 */

/** A step of a path: a key, an index (negative: from the end), or a range of indexes. */
export type PathStep = string | number | { from: number | null; to: number | null };

/**
 * Reads a path expression: `.key`, `["any key"]`, `[0]`, `[-1]`, `[2:5]`, in a row. A leading dot may be left out.
 * @throws ForkpointError `INVALID_ARGUMENT` that names the column.
 * @example parsePath("messages[-1].content"); // ["messages", -1, "content"]
 */
export function parsePath(text: string): PathStep[];

/**
 * Writes a path as {@link parsePath} reads it.
 * @example formatPath(["messages", 0, "a key"]); // 'messages[0]["a key"]'
 */
export function formatPath(path: ReadonlyArray<string | number>): string;

/**
 * Returns the value at a path in the JSON form of a value. Maps are indexed by their string keys. Only own keys are
 * found. Undefined: there is no such value.
 * @example valueAt({ messages: ["a", "b"] }, parsePath("messages[-1]")); // "b"
 */
export function valueAt(value: unknown, path: readonly PathStep[]): unknown;

/**
 * Returns the JSON form of a value: see `CheckpointDetail`.
 * @example toJsonForm(new Map([["a", 1n]])); // { $type: "Map", value: [["a", { $type: "BigInt", value: "1" }]] }
 */
export function toJsonForm(value: unknown): unknown;

/**
 * Returns the value of a JSON form.
 * @throws ForkpointError `UNSUPPORTED` for `Opaque` and for an unknown `$type`. The message has the path.
 * @example fromJsonForm({ $type: "Date", value: "2026-01-01T00:00:00.000Z" }); // a Date
 */
export function fromJsonForm(form: unknown): unknown;

/**
 * Parses JSON.
 * @throws ForkpointError `INVALID_ARGUMENT` that names the line, the column and what was expected. The properties `line`
 *   and `column` count from 1.
 * @example parseJson('{"a": 1}'); // { a: 1 }
 */
export function parseJson(text: string): unknown;

/**
 * Writes JSON in which control characters, lone surrogates and bidi controls are escaped. It parses back exactly.
 * @example safeJson({ text: "\u001b[31m" }); // '{"text":"\\u001b[31m"}'
 */
export function safeJson(value: unknown): string;

/**
 * Returns a text in which control characters, lone surrogates and bidi controls are written as escapes.
 * @example console.log(safeText(run)); // a run's id cannot change the terminal
 */
export function safeText(text: string): string;

/**
 * Compresses a stream with zstd, for example the lines of an export.
 * @example for await (const chunk of compress([Buffer.from("text")])) console.log(chunk);
 */
export function compress(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncIterable<Uint8Array>;

/**
 * Decompresses a stream of zstd.
 * @throws ForkpointError `CORRUPT` for bytes that cannot be decompressed, while it is read.
 * @example for await (const chunk of decompress(createReadStream("export.jsonl.zst"))) console.log(chunk);
 */
export function decompress(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncIterable<Uint8Array>;
