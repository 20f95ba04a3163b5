// A row of the tree of a state.
import { bytes, count, shown } from "./format.js";
import { Icon } from "./icons.js";
import type { TreeRow } from "./tree.js";
import { Bar } from "./ui.js";
import { Value } from "./value.js";

/** From this size on, in bytes, a row shows how large it is. */
const SHOWN_SIZE = 64;

/** Deep rows are not indented further. */
const MAX_DEPTH = 24;

interface RowProps {
  id?: string;
  row: TreeRow;
  isChosen: boolean;
  act: (row: TreeRow) => void;
}

export function TreeRowView({ id, row, isChosen, act }: RowProps) {
  const { depth, step, state, more } = row;
  const isOpen = state === "leaf" ? undefined : state === "open";
  return (
    <div
      id={id}
      class={`tree-row ${more === undefined ? "" : "more"}`}
      role="treeitem"
      aria-level={depth}
      aria-expanded={isOpen}
      aria-posinset={row.at}
      aria-setsize={row.of}
      aria-selected={isChosen}
      data-testid={more === undefined ? "tree-row" : "tree-more"}
      data-path={row.id}
      style={{ "--depth": String(Math.min(depth, MAX_DEPTH) - 1) }}
      onClick={() => act(row)}
    >
      <span class="twist">{state !== "leaf" && <Icon name="open" />}</span>
      {more !== undefined ? (
        <span class="v-container">Show more: {count(more.count)} left</span>
      ) : (
        <>
          {step !== "" && (
            <span class={typeof step === "number" ? "key index" : "key"}>
              {row.key === undefined ? shown(String(step), 200) : <Value form={row.key} />}
            </span>
          )}
          <span class="value">
            <Value form={row.value} depth={row.path.length} />
          </span>
          {row.size >= SHOWN_SIZE && (
            <span class="size">
              <Bar part={row.share} />
              <span>{bytes(row.size)}</span>
            </span>
          )}
        </>
      )}
    </div>
  );
}
