// A message of a conversation: its text, its tool calls with their results, and its other parts.
import { useSignal } from "@preact/signals";
import { type Missing, moreOf } from "../forms.js";
import type { ConversationMessage, MessagePart, ToolResult } from "../../../ts/inspect/conversation/message.js";
import { at as timeText, bytes, count, counted, duration, shown } from "./format.js";
import { Icon } from "./icons.js";
import { Markdown } from "./markdown-view.js";
import { tokensText } from "./tokens.js";
import { Button } from "./ui.js";
import { wholeText } from "./value.js";

/** The actions of a message's parts: show all of a cut text, and the stored value. */
export interface MessageActions {
  /** Loads the complete message. Null: as much as can be shown is loaded. */
  whole: (() => void) | null;
  raw: () => void;
}

interface MessageProps extends MessageActions {
  message: ConversationMessage & Missing;
  /** The stored message, as JSON. Null: not requested. */
  stored: string | null;
}

const known = new Set(["user", "assistant", "system", "tool"]);

export function MessageView({ message, stored, whole, raw }: MessageProps) {
  const { role, name, parts, model, usage, durationMs, at, marks = [], added, path, moreParts } = message;
  return (
    <article
      class={`message ${known.has(role) ? role : ""}`}
      data-testid="message"
      data-role={shown(role, 40)}
      data-added={added}
      data-path={shown(path, 400)}
    >
      <header class="row small">
        <em>{shown(role, 40)}</em>
        {name !== null && name !== role && <span class="cut">{shown(name, 60)}</span>}
        {marks.map((mark) => (
          <span key={mark} class="tag">
            {mark}
          </span>
        ))}
        {added && <span class="tag add tone">+ new</span>}
        <span class="dim cut">
          {[
            model === null ? "" : shown(model, 60),
            usage === null ? "" : tokensText(usage),
            durationMs === null ? "" : duration(durationMs),
            at === null ? "" : timeText(at),
          ]
            .filter((fact) => fact !== "")
            .join(" · ")}
        </span>
        <span class="grow" />
        <Button
          kind="quiet"
          aria-pressed={stored !== null}
          title={`As it is stored: ${shown(path, 200)}`}
          onClick={raw}
        >
          Raw
        </Button>
      </header>
      {stored !== null ? (
        <pre class="ground wrap" data-testid="message-raw" tabIndex={0}>
          {wholeText(stored)}
        </pre>
      ) : (
        <>
          {parts.map((part, index) => (
            <Part key={index} part={part} whole={whole} />
          ))}
          <MoreParts more={moreParts} />
        </>
      )}
    </article>
  );
}

const MoreParts = ({ more = 0 }: { more?: number | undefined }) =>
  more === 0 ? null : <p class="note dim">{counted(more, "more part")}: see the raw value.</p>;

type Whole = MessageActions["whole"];

/** The place where a text was cut. */
function More({ more, whole }: { more: number | undefined; whole: Whole }) {
  if (more === undefined) return null;
  return whole === null ? (
    <p class="note dim">{counted(more, "more character")}. “As stored” can download them.</p>
  ) : (
    <p>
      <Button kind="quiet" icon="down" onClick={whole}>
        {`Show all: ${counted(more, "more character")}`}
      </Button>
    </p>
  );
}

function Part({ part, whole }: { part: MessagePart & Missing; whole: Whole }) {
  switch (part.type) {
    case "text":
      return (
        <>
          <Markdown text={part.text} />
          <More more={part.more} whole={whole} />
        </>
      );
    case "error":
      return (
        <p class="failed tone row" data-testid="message-error">
          <Icon name="cross" />
          <span class="wrap">{wholeText(part.text)}</span>
        </p>
      );
    case "reasoning":
      return part.text === "" ? (
        <p class="dim small" data-testid="reasoning">
          Reasoning, hidden by the provider
        </p>
      ) : (
        <details data-testid="reasoning">
          <summary class="dim small">Reasoning, {counted(part.text.length + (part.more ?? 0), "character")}</summary>
          <div class="soft">
            <Markdown text={part.text} />
          </div>
          <More more={part.more} whole={whole} />
        </details>
      );
    case "media": {
      const { mediaType, bytes: size, name, url } = part;
      return (
        <p class="row small soft" data-testid="media">
          <Icon name="disk" />
          <em>{shown(mediaType, 80)}</em>
          {size !== null && <span>{bytes(size)}</span>}
          {name !== null && <span class="cut">{shown(name, 120)}</span>}
          {url !== null && <code class="cut">{shown(url, 200)}</code>}
        </p>
      );
    }
    case "value":
      return (
        <>
          {part.name !== null && <p class="small dim">{shown(part.name, 80)}</p>}
          <Folded text={jsonText(part.value)} />
        </>
      );
    case "call":
      return <Call part={part} whole={whole} />;
    case "result":
      return (
        <div class="tool-call" data-testid="tool-call" data-state={part.result.isError ? "error" : "done"}>
          <p class="row">
            <Icon name="back" class="dim" />
            <code>{shown(part.name ?? part.id ?? "result", 120)}</code>
          </p>
          <Result result={part.result} whole={whole} />
        </div>
      );
  }
}

function Call({ part, whole }: { part: Extract<MessagePart, { type: "call" }>; whole: Whole }) {
  const { name, args, state, result } = part;
  const text = args === null ? "" : typeof args === "string" ? args : jsonText(args);
  return (
    <div
      class="tool-call"
      data-testid="tool-call"
      data-state={result === null ? "open" : result.isError ? "error" : "done"}
      data-added={result?.added === true}
    >
      <p class="row">
        <Icon name="open" class="accent" />
        <code>
          <strong>{shown(name, 120)}</strong>
        </code>
        {state !== null && !state.startsWith("output-") && <span class="tag waiting tone">{shown(state, 60)}</span>}
        {result === null && <span class="dim small">no result yet</span>}
        {result?.added === true && <span class="tag add tone">+ result</span>}
      </p>
      {text !== "" && text !== "{}" && <Folded text={text} />}
      {result !== null && <Result result={result} whole={whole} />}
    </div>
  );
}

function Result({ result, whole }: { result: ToolResult & Missing; whole: Whole }) {
  const { parts, isError, moreParts } = result;
  return (
    <div class={`result ${isError ? "failed" : ""}`}>
      <p class="small row">
        {isError ? (
          <em class="tone row">
            <Icon name="cross" size={14} />
            Error
          </em>
        ) : (
          <span class="dim">Result</span>
        )}
        {parts.length === 0 && <span class="dim">nothing</span>}
      </p>
      {parts.map((part: MessagePart & Missing, index) =>
        part.type === "text" ? (
          <div key={index}>
            <Folded text={prettyText(part.text, part.more)} />
            <More more={part.more} whole={whole} />
          </div>
        ) : (
          <Part key={index} part={part} whole={whole} />
        ),
      )}
      <MoreParts more={moreParts} />
    </div>
  );
}

/** The number of characters of a value at first, and of a value on one line. */
const [FOLDED, SHORT] = [1_200, 72];

/** A value as text. A long one is shown in part. */
function Folded({ text }: { text: string }) {
  const open = useSignal(false);
  const isLong = text.length > FOLDED + 200;
  return (
    <>
      <pre class="ground wrap">{wholeText(isLong && !open.value ? `${text.slice(0, FOLDED)}…` : text)}</pre>
      {isLong && !open.value && (
        <Button kind="quiet" icon="down" onClick={() => (open.value = true)}>
          {`Show ${count(text.length - FOLDED)} more characters`}
        </Button>
      )}
    </>
  );
}

/** Indents a text that is JSON. */
function prettyText(text: string, more: number | undefined): string {
  if (more !== undefined || text.length > 20_000 || !/^\s*[[{]/.test(text)) return text;
  try {
    return text.length <= SHORT ? text : JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Writes a value as JSON, indented if it is long, with notes about left-out parts. */
function jsonText(form: unknown): string {
  const write = (indent: number) => JSON.stringify(form, withoutMarks, indent);
  const line = write(0);
  return line.length <= SHORT ? line : write(2);
}

function withoutMarks(_: string, value: unknown): unknown {
  const more = moreOf(value);
  return more === null ? value : `${more.text ?? ""}… ${count(more.count)} more`;
}
