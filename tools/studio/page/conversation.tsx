// The conversation of a checkpoint, with a window of its messages in the document.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Conversation, ConversationMessage } from "../../../ts/inspect/conversation/message.js";
import { type Detail, api, request, troubleOf } from "./api.js";
import { Choice } from "./fields.js";
import { count, counted, shown } from "./format.js";
import { useKeys } from "./keys.js";
import { MessageView } from "./message-view.js";
import type { RunView } from "./run-data.js";
import { firstOpen } from "./tree.js";
import { Tree } from "./tree-view.js";
import { Button, Empty, ErrorBox, Skeleton, news, say } from "./ui.js";
import { useAnswer } from "./answer.js";

/** The number of messages in a request, and the maximum number in the document. */
const [PAGE, MOST] = [20, 80];

/** The distance to an end of the window at which the next messages are loaded, in pixels. */
const NEAR = 400;

/** The maximum number of characters of a long text or a stored message to load. More would block the page. */
const WHOLE = 100_000;

type Shown = Omit<Conversation, "checkpoint">;

export function ConversationView({ view, detail }: { view: RunView; detail: Detail }) {
  const { id, seq } = detail.checkpoint;
  const list = useSignal<string | null>(null);
  const raw = useSignal(false);
  const open = useSignal<ReadonlySet<string> | null>(null);
  const ask = async (signal: AbortSignal) => {
    const query = { list: list.value, from: -PAGE, limit: PAGE };
    const found = await api.conversation(view.ref, id, query, signal).catch((error: unknown) => {
      // This step may not have the list chosen at another step.
      if (list.value === null || troubleOf(error).code !== "NOT_FOUND") throw error;
      return api.conversation(view.ref, id, { ...query, list: null }, signal);
    });
    news.value = counted(found.total, "message");
    return found;
  };
  const { answer, trouble, again } = useAnswer(ask, [id, seq, list.value]);
  const found = answer.value;
  const toggle = () => {
    open.value = new Set(firstOpen(detail.state, 30)).add(found?.list ?? "");
    raw.value = !raw.value;
  };
  useKeys({ r: toggle });
  if (trouble.value !== null) return <ErrorBox trouble={trouble.value} retry={again} />;
  if (found === null || found.checkpoint.id !== id) return <Skeleton rows={6} />;
  if (found.list === null) return <Empty title="No messages" />;
  return (
    <div class="conversation stack grow" data-testid="conversation" tabIndex={-1}>
      <div class="part row small">
        <span class="dim">{counted(found.total, "message")}</span>
        {found.lists.length > 1 && (
          <Choice
            name="List"
            testId="conversation-list"
            value={found.list}
            options={found.lists.map(({ path, entries }) => [
              path,
              `${shown(path || "(state)", 60)} (${count(entries)})`,
            ])}
            onChoice={(path) => (list.value = path)}
          />
        )}
        <span class="grow" />
        <Button
          kind="quiet"
          class="button quiet"
          testId="conversation-raw"
          hint="r"
          aria-pressed={raw.value}
          onClick={toggle}
        >
          As stored
        </Button>
      </div>
      {raw.value ? (
        <Tree view={view.ref} id={id} part="state" form={detail.state} open={open} />
      ) : (
        <Messages key={`${id} ${seq} ${found.list}`} view={view} id={id} first={found} />
      )}
    </div>
  );
}

function Messages({ view, id, first }: { view: RunView; id: string; first: Shown }) {
  const own = useRef<HTMLDivElement>(null);
  const page = useSignal<Pick<Shown, "from" | "messages">>(first);
  const stored = useSignal<ReadonlyMap<string, string>>(new Map());
  const full = useSignal<ReadonlySet<string>>(new Set());
  /** The current request, whose answer is wanted. Null: none. */
  const asked = useRef<object | null>(null);
  /** The position after a change: an end of the list, or a message that stays in place. */
  const place = useRef<"start" | "end" | { path: string; top: number }>("end");
  const { from, messages } = page.value;
  const to = from + messages.length;
  const { total, list } = first;

  const load = async (at: number, limit: number, then?: "start" | "end") => {
    // A jump replaces the current request.
    if ((asked.current !== null && then === undefined) || limit <= 0) return;
    const request = {};
    asked.current = request;
    try {
      // A page from the end may have fewer messages, so the position is negative for earlier ones.
      const found = await api.conversation(view.ref, id, { list, from: at < from ? at - total : at, limit });
      if (asked.current !== request) return;
      if (then === undefined) keepPlace();
      else place.current = then;
      const now = page.value;
      const isBefore = found.from < now.from;
      // Messages that are not adjacent to the window replace it.
      const end = found.from + found.messages.length;
      if (isBefore && end >= now.from) {
        const before = found.messages.slice(0, now.from - found.from);
        page.value = { from: found.from, messages: [...before, ...now.messages].slice(0, MOST) };
      } else if (!isBefore && found.from === now.from + now.messages.length) {
        const all = [...now.messages, ...found.messages];
        page.value = { from: now.from + Math.max(0, all.length - MOST), messages: all.slice(-MOST) };
      } else page.value = { from: found.from, messages: found.messages };
    } catch (error) {
      say(troubleOf(error).message);
    } finally {
      if (asked.current === request) asked.current = null;
    }
  };
  const earlier = () => load(Math.max(0, from - PAGE), Math.min(PAGE, from));
  const later = () => load(to, Math.min(PAGE, total - to));

  const keepPlace = () => {
    const box = own.current!.getBoundingClientRect();
    const all = [...own.current!.querySelectorAll<HTMLElement>("[data-path]")];
    const seen = all.find((each) => each.getBoundingClientRect().bottom > box.top);
    place.current = seen === undefined ? "end" : { path: seen.dataset["path"]!, top: seen.getBoundingClientRect().top };
  };
  useLayoutEffect(() => {
    const box = own.current!;
    const kept = place.current;
    if (typeof kept === "string") {
      box.scrollTop = kept === "start" ? 0 : box.scrollHeight;
      return;
    }
    const again = [...box.querySelectorAll<HTMLElement>("[data-path]")].find(
      (each) => each.dataset["path"] === kept.path,
    );
    if (again !== undefined) box.scrollTop += again.getBoundingClientRect().top - kept.top;
  }, [page.value]);

  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = own.current!;
    if (scrollTop < NEAR && from > 0) void earlier();
    else if (scrollHeight - scrollTop - clientHeight < NEAR && to < total) void later();
  };

  // The functions in messages read the signals when called.
  const replace = (index: number, message: ConversationMessage) => {
    keepPlace();
    page.value = { from: page.value.from, messages: page.value.messages.with(index, message) };
  };
  const loadWhole = async (path: string) => {
    try {
      const index = page.value.messages.findIndex((each) => each.path === path);
      const query = { list, from: page.value.from + index, limit: 1, text: WHOLE };
      const [message] = (await api.conversation(view.ref, id, query)).messages;
      if (message === undefined || page.value.messages[index]?.path !== path) return;
      full.value = new Set(full.value).add(path);
      replace(index, message);
    } catch (error) {
      say(troubleOf(error).message);
    }
  };
  const showRaw = async (path: string) => {
    const others = new Map(stored.value);
    if (others.delete(path)) {
      stored.value = others;
      return;
    }
    try {
      const { space, run, ns } = view.ref;
      const text = await (await request("raw", { space, run, ns, id, path })).text();
      const shownText = text.length > WHOLE ? `${text.slice(0, WHOLE)}… ${count(text.length - WHOLE)} more` : text;
      stored.value = new Map(stored.value).set(path, shownText);
    } catch (error) {
      say(troubleOf(error).message);
    }
  };

  return (
    <div ref={own} class="messages scroll" role="region" aria-label="Messages" tabIndex={0} onScroll={onScroll}>
      {from > 0 && (
        <p class="row small">
          <Button icon="newer" onClick={() => void earlier()}>
            {`Earlier: ${count(from)} more`}
          </Button>
          <Button onClick={() => void load(0, PAGE, "start")}>First</Button>
        </p>
      )}
      {messages.map((message, index) => {
        const { path } = message;
        return (
          <Kept
            key={from + index}
            message={message}
            stored={stored.value.get(path) ?? null}
            isWhole={full.value.has(path)}
            loadWhole={loadWhole}
            showRaw={showRaw}
          />
        );
      })}
      {to < total && (
        <p class="row small">
          <Button icon="older" onClick={() => void later()}>
            {`Later: ${count(total - to)} more`}
          </Button>
          <Button onClick={() => void load(Math.max(0, total - PAGE), PAGE, "end")}>Last</Button>
        </p>
      )}
    </div>
  );
}

interface KeptProps {
  message: ConversationMessage;
  stored: string | null;
  isWhole: boolean;
  loadWhole: (path: string) => Promise<void>;
  showRaw: (path: string) => Promise<void>;
}

/** A message that is only rendered again if it has changed, and not when other messages change. */
function Kept({ message, stored, isWhole, loadWhole, showRaw }: KeptProps) {
  const { path } = message;
  return useMemo(
    () => (
      <MessageView
        message={message}
        stored={stored}
        whole={isWhole ? null : () => void loadWhole(path)}
        raw={() => void showRaw(path)}
      />
    ),
    [message, stored, isWhole],
  );
}
