// The tree of a state: a virtual list with levels to open, sizes, a search, and details of the selected value.
import { type Signal, useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo } from "preact/hooks";
import { formatPath } from "../../../ts/bridge/json-form/path.js";
import { insideOf, moreOf } from "../forms.js";
import { useAnswer } from "./answer.js";
import { type CheckpointRef, type RunRef, api, troubleOf } from "./api.js";
import { EditValue } from "./edit-value.js";
import { editsOf } from "./edits.js";
import { SearchField } from "./fields.js";
import { whyNoFork } from "./forkable.js";
import { counted } from "./format.js";
import { useKeys } from "./keys.js";
import { useRevealed } from "./reveal.js";
import { change } from "./route.js";
import { store } from "./store.js";
import { type Loaded, type TreeRow, firstOpen, foundRows, joined, rowsOf } from "./tree.js";
import { TreeRowView } from "./tree-row.js";
import { Button, ErrorBox, news, say } from "./ui.js";
import { Closer } from "./closer.js";
import { VirtualList } from "./virtual.js";

const ROW = 26;

/** The number of rows that each key moves by. */
const moves: Record<string, number> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 15,
  PageUp: -15,
  Home: -Infinity,
  End: Infinity,
};

/** The number of entries of a long container in one request. */
const ENTRIES = 200;

export interface TreeProps {
  view: RunRef;
  id: string;
  part: "state" | "rest";
  form: unknown;
  /** The checkpoint, if its values are editable in a fork. */
  of?: CheckpointRef;
  /** The open rows, which stay open at the next checkpoint. Null: the default. */
  open: Signal<ReadonlySet<string> | null>;
}

export function Tree({ view, id, part, form, open, of }: TreeProps) {
  const loaded = useSignal<ReadonlyMap<string, Loaded>>(new Map());
  const chosen = useSignal<string | null>(null);
  /** The row whose value is being edited. */
  const editing = useSignal<string | null>(null);
  const edits = useMemo(
    () => new Map((of === undefined ? [] : editsOf(of)).map(({ path, value }) => [formatPath(path), value])),
    [of && editsOf(of)],
  );
  const text = useSignal("");
  const asked = text.value.trim();
  const search = async (signal: AbortSignal) => {
    if (asked === "") return null;
    const matches = await api.search(view, id, part, asked, signal);
    news.value = `${counted(matches.matches.length, "match")} found`;
    return matches;
  };
  const { answer: found, trouble } = useAnswer(search, [asked, id, part, form], asked === "" ? 0 : 120);

  useLayoutEffect(() => void (loaded.value = new Map()), [form]);

  const opened = useMemo(() => {
    const all = new Set(open.value ?? firstOpen(form, 30));
    // Edited values replace the stored ones.
    for (const edited of edits.keys()) all.delete(edited);
    return all;
  }, [form, open.value, edits]);
  const revealed = useRevealed({ view, id, part, form, opened, open, chosen });
  const rows = useMemo(
    () =>
      found.value === null && revealed.value !== null
        ? foundRows(revealed.value)
        : found.value === null
          ? rowsOf(form, { loaded: loaded.value, open: opened })
          : foundRows(found.value.matches),
    [form, opened, loaded.value, found.value, revealed.value],
  );
  const index = rows.findIndex((row) => row.id === chosen.value);

  const load = async (key: string, path: string, take: (part: unknown) => Loaded) => {
    try {
      const detail = await api.part(view, id, part, path);
      loaded.value = new Map(loaded.value).set(key, take(detail.state));
      trouble.value = null;
    } catch (error) {
      trouble.value = troubleOf(error);
    }
  };
  const setOpen = (row: TreeRow, isOpen: boolean) => {
    const next = new Set(opened);
    if (isOpen) next.add(row.id);
    else next.delete(row.id);
    open.value = next;
    if (isOpen && moreOf(row.value) !== null) {
      void load(row.id, row.id, (value) => loadedOf(value, row.path.length));
    }
  };
  const showMore = ({ path, more }: TreeRow) => {
    const key = formatPath(path);
    const before = loaded.value.get(key) ?? parentOf(form, rows, key);
    if (before === undefined || more === undefined) return;
    void load(key, `${key}[${more.shown}:${more.shown + ENTRIES}]`, (value) => joined(before, value));
  };
  const edit = (row: TreeRow | undefined) => {
    if (of === undefined || row === undefined || row.more !== undefined) return;
    const why =
      store.value?.write === true ? whyNoFork(of.space) : "The studio is read-only. Start it with --write to edit";
    if (why !== null) return say(why);
    chosen.value = row.id;
    editing.value = row.id;
  };
  const act = (row: TreeRow) => {
    editing.value = null;
    chosen.value = row.id;
    if (edits.has(row.id)) return;
    if (row.more !== undefined) showMore(row);
    else if (row.state !== "leaf" && found.value === null && revealed.value === null)
      setOpen(row, row.state === "closed");
  };

  const endEdit = () => {
    editing.value = null;
    document.querySelector<HTMLElement>("[data-testid=state-tree]")?.focus();
  };
  useKeys({ e: () => edit(rows[index]) });

  /** The keys of the ARIA tree pattern. */
  const followKeys = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[index];
    const to = (at: number) => {
      editing.value = null;
      chosen.value = rows[Math.max(0, Math.min(rows.length - 1, at))]?.id ?? null;
    };
    if (Object.hasOwn(moves, event.key)) to(index + moves[event.key]!);
    else if (event.key === "ArrowRight") {
      if (row?.state === "closed") setOpen(row, true);
      else if (row?.state === "open") to(index + 1);
    } else if (event.key === "ArrowLeft") {
      if (row?.state === "open") setOpen(row, false);
      else if (row !== undefined) {
        const parent = rows.findLastIndex((each, at) => at < index && each.depth < row.depth);
        if (parent !== -1) to(parent);
      }
    } else if (event.key === "Enter" || event.key === " ") {
      if (row !== undefined) act(row);
    } else return;
    event.preventDefault();
  };

  return (
    <div class="tree stack grow">
      <div class="tree-tools row small">
        <SearchField
          name="Search the state"
          placeholder="Search keys and values"
          testId="state-search"
          value={text.value}
          onText={(value) => (text.value = value)}
        />
        {found.value !== null && (
          <span class="dim">
            {counted(found.value.matches.length, "match").replace(/matchs$/, "matches")}
            {found.value.truncated && ", and more"}
          </span>
        )}
        {found.value === null && revealed.value !== null && (
          <Button testId="reveal-all" onClick={() => change({ path: null, part: null }, true)}>
            Show all
          </Button>
        )}
      </div>
      {trouble.value !== null && <ErrorBox trouble={trouble.value} />}
      {insideOf(form, 0) === null ? (
        <ul role="tree" aria-label={part} data-testid="state-tree">
          <TreeRowView row={singleOf(form)} act={() => {}} />
        </ul>
      ) : (
        <VirtualList
          role="tree"
          aria-label={part === "state" ? "State" : "Other fields"}
          testId={part === "state" ? "state-tree" : "rest-tree"}
          items={rows}
          keyOf={(row) => row.id}
          rowHeight={ROW}
          current={index}
          name={`row-${part}`}
          onKeyDown={followKeys}
          row={(row, own) => <TreeRowView {...own} row={row} act={act} edit={edits.get(row.id)} />}
        />
      )}
      {rows.length === 0 && insideOf(form, 0) !== null && (
        <p class="note dim">{found.value === null ? "Empty" : "No matches in this state."}</p>
      )}
      {rows[index] !== undefined && rows[index].more === undefined && editing.value !== rows[index].id && (
        <Closer
          view={view}
          id={id}
          part={part}
          row={rows[index]}
          close={() => (chosen.value = null)}
          edit={of === undefined ? undefined : edit}
        />
      )}
      {of !== undefined && rows[index] !== undefined && editing.value === rows[index].id && (
        <EditValue key={`${of.id} ${editing.value}`} of={of} row={rows[index]} close={endEdit} />
      )}
    </div>
  );
}

function loadedOf(form: unknown, depth: number): Loaded {
  return { form, inside: insideOf(form, depth) ?? { kind: "List", entries: [], rest: null } };
}

/** Returns the loaded entries of a container that came with the state. */
function parentOf(root: unknown, rows: readonly TreeRow[], key: string): Loaded | undefined {
  if (key === "") return loadedOf(root, 0);
  const row = rows.find(({ id }) => id === key);
  return row && loadedOf(row.value, row.path.length);
}

/** The row of a state without entries. */
function singleOf(form: unknown): TreeRow {
  return { id: "", path: [], depth: 1, step: "", value: form, state: "leaf", at: 1, of: 1, size: 0, share: 0 };
}
