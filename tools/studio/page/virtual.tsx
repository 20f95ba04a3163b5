// A long list of rows of equal height. Only the visible rows are in the document.
import { useSignal } from "@preact/signals";
import { type ComponentChildren, Fragment, type JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { scrollTo, windowOf } from "./window.js";

/** The props of the element of each row. */
export interface RowProps {
  id: string;
  role: "option" | "treeitem";
  "aria-selected": boolean;
  "aria-posinset": number;
  "aria-setsize": number;
}

interface VirtualProps<Item> extends Omit<JSX.IntrinsicElements["div"], "children" | "role" | "name"> {
  role: "listbox" | "tree";
  items: readonly Item[];
  keyOf: (item: Item) => string;
  rowHeight: number;
  /** The index of the selected row. The list scrolls to it when another item is selected. -1: none. */
  current: number;
  /** The prefix of the row ids. */
  name: string;
  /** Whether visible rows stay in place when rows are added above them. */
  keepsPlace?: boolean;
  row: (item: Item, own: RowProps, index: number) => ComponentChildren;
  /** Draws the background of the rows from `start` to before `end`. */
  ground?: (start: number, end: number) => ComponentChildren;
  /** Called when the visible rows change. */
  onWindow?: (start: number, end: number) => void;
  testId: string;
  /** The content after the last row. */
  tail?: ComponentChildren;
}

const ALL = Number.MAX_SAFE_INTEGER;

export function VirtualList<Item>(props: VirtualProps<Item>) {
  const { items, keyOf, rowHeight, current, name, keepsPlace, row, ground, onWindow, testId, tail, ...others } = props;
  const own = useRef<HTMLDivElement>(null);
  const anchor = useRef<string | undefined>(undefined);
  // The first window has a typical height, so that the first paint has rows.
  const seen = useSignal(windowOf(0, 900, rowHeight, ALL));
  const keyAt = (index: number) => (items[index] === undefined ? undefined : keyOf(items[index]));
  const look = () => {
    const box = own.current;
    if (box === null) return;
    const next = windowOf(box.scrollTop, box.clientHeight, rowHeight, ALL);
    if (next.start !== seen.value.start || next.end !== seen.value.end) seen.value = next;
    const isHeld = keepsPlace === true && box.scrollTop >= rowHeight;
    anchor.current = isHeld ? keyAt(Math.floor(box.scrollTop / rowHeight)) : undefined;
  };
  const start = Math.min(seen.value.start, items.length);
  const end = Math.min(seen.value.end, items.length);

  useLayoutEffect(() => {
    const observer = new ResizeObserver(look);
    observer.observe(own.current!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const box = own.current!;
    const now = anchor.current === undefined ? -1 : items.findIndex((item) => keyOf(item) === anchor.current);
    const before = Math.floor(box.scrollTop / rowHeight);
    if (now >= 0 && now !== before) box.scrollTop += (now - before) * rowHeight;
    look();
  }, [items, rowHeight]);
  useLayoutEffect(() => {
    const box = own.current!;
    if (current < 0) return;
    const top = scrollTo(current, box.scrollTop, box.clientHeight, rowHeight);
    if (top !== box.scrollTop) box.scrollTop = top;
    look();
  }, [keyAt(current)]);
  useEffect(() => onWindow?.(start, end), [start, end, items]);

  const role = others.role === "tree" ? "treeitem" : "option";
  const rowProps = (index: number): RowProps => ({
    id: `${name}-${index}`,
    role,
    "aria-selected": index === current,
    "aria-posinset": index + 1,
    "aria-setsize": items.length,
  });
  return (
    <div
      ref={own}
      class="virtual scroll"
      data-testid={testId}
      tabIndex={0}
      aria-activedescendant={current === -1 ? undefined : `${name}-${current}`}
      onScroll={look}
      {...others}
    >
      <div class="virtual-space" style={{ height: `${items.length * rowHeight}px` }}>
        <div style={{ transform: `translateY(${start * rowHeight}px)` }}>
          {ground?.(start, end)}
          {items.slice(start, end).map((item, at) => (
            <Fragment key={keyOf(item)}>{row(item, rowProps(start + at), start + at)}</Fragment>
          ))}
        </div>
      </div>
      {/* A list has only rows for those who hear it. */}
      {tail && <div aria-hidden="true">{tail}</div>}
    </div>
  );
}
