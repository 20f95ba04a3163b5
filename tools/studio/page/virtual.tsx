// A long list of rows of one height, of which only the visible ones are in the document.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { scrollTo, windowOf } from "./window.js";

interface VirtualProps extends Omit<JSX.IntrinsicElements["div"], "children"> {
  count: number;
  rowHeight: number;
  /** The row that is made visible when `currentKey` changes. -1: none. */
  current?: number;
  currentKey?: string | null;
  /** Names rows, so that what one looks at stays in its place when rows come in above it. */
  keys?: { at(index: number): string | undefined; indexOf(key: string): number };
  /** Draws the rows from `start` to before `end`. */
  children: (start: number, end: number) => ComponentChildren;
  /** Called with the window when it has changed. */
  onWindow?: (start: number, end: number) => void;
  testId?: string;
  /** What stands behind the last row. */
  tail?: ComponentChildren;
}

const ALL = Number.MAX_SAFE_INTEGER;

export function VirtualList(props: VirtualProps) {
  const { count, rowHeight, current = -1, currentKey, keys, children, onWindow, testId, tail, ...others } = props;
  const own = useRef<HTMLDivElement>(null);
  const anchor = useRef<string | undefined>(undefined);
  // The first guess is a window of a usual height, so that the first paint has rows.
  const seen = useSignal(windowOf(0, 900, rowHeight, ALL));
  const look = () => {
    const box = own.current;
    if (box === null) return;
    const next = windowOf(box.scrollTop, box.clientHeight, rowHeight, ALL);
    if (next.start !== seen.value.start || next.end !== seen.value.end) seen.value = next;
    anchor.current = box.scrollTop < rowHeight ? undefined : keys?.at(Math.floor(box.scrollTop / rowHeight));
  };
  const start = Math.min(seen.value.start, count);
  const end = Math.min(seen.value.end, count);

  useLayoutEffect(() => {
    const observer = new ResizeObserver(look);
    observer.observe(own.current!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const box = own.current!;
    const now = anchor.current === undefined ? -1 : (keys?.indexOf(anchor.current) ?? -1);
    const before = Math.floor(box.scrollTop / rowHeight);
    if (now >= 0 && now !== before) box.scrollTop += (now - before) * rowHeight;
    look();
  }, [keys, count, rowHeight]);
  useLayoutEffect(() => {
    const box = own.current!;
    if (current < 0) return;
    const top = scrollTo(current, box.scrollTop, box.clientHeight, rowHeight);
    if (top !== box.scrollTop) box.scrollTop = top;
    look();
  }, [currentKey, current < 0]);
  useEffect(() => onWindow?.(start, end), [start, end, onWindow]);

  return (
    <div ref={own} class="virtual scroll" data-testid={testId} tabIndex={0} onScroll={look} {...others}>
      <div class="virtual-space" style={{ height: `${count * rowHeight}px` }}>
        <div class="virtual-rows" style={{ transform: `translateY(${start * rowHeight}px)` }}>
          {children(start, end)}
        </div>
      </div>
      {tail}
    </div>
  );
}
