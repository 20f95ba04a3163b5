// A row of the tree of a state.
import { bytes, count, shown } from "./format.js";
import { Icon } from "./icons.js";
import type { TreeRow } from "./tree.js";
import { Bar } from "./ui.js";
import type { RowProps } from "./virtual.js";
import { Value } from "./value.js";

/** Rows of at least this size show it, in bytes. */
const SHOWN_SIZE = 64;

/** Deep rows are not indented further. */
const MAX_DEPTH = 24;

interface TreeRowProps extends Partial<RowProps> {
  row: TreeRow;
  act: (row: TreeRow) => void;
  /** The value that an edit sets. Undefined: there is no edit. */
  edit?: unknown;
}

export function TreeRowView({ row, act, edit, ...own }: TreeRowProps) {
  const { depth, step, state, more } = row;
  const isOpen = state === "leaf" ? undefined : state === "open";
  return (
    <div
      aria-selected={false}
      {...own}
      class="tree-row line row mono"
      role="treeitem"
      aria-level={depth}
      aria-expanded={isOpen}
      aria-posinset={row.at}
      aria-setsize={row.of}
      data-testid={more === undefined ? "tree-row" : "tree-more"}
      data-path={row.id}
      style={{ "--depth": String(Math.min(depth, MAX_DEPTH) - 1) }}
      onClick={() => act(row)}
    >
      <span class="twist row dim">{state !== "leaf" && <Icon name="open" size={14} />}</span>
      {more !== undefined ? (
        <span class="accent">Show more: {count(more.count)} left</span>
      ) : (
        <>
          {step !== "" && (
            <span class={`key cut ${typeof step === "number" ? "dim" : ""}`}>
              {row.key === undefined ? shown(String(step), 200) : <Value form={row.key} />}
            </span>
          )}
          <span class="value row grow">
            {edit === undefined ? (
              <Value form={row.value} depth={row.path.length} />
            ) : (
              <>
                <span class="tag replace tone">edited</span>
                <Value form={edit} />
              </>
            )}
          </span>
          {row.size >= SHOWN_SIZE && (
            <span class="size row dim number">
              <Bar part={row.share} />
              <span>{bytes(row.size)}</span>
            </span>
          )}
        </>
      )}
    </div>
  );
}
