// A plain textarea with line numbers. Only the visible numbers are in the document.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

const LINE = 20;

/** A syntax error and its place. */
export interface JsonError {
  message: string;
  line: number;
  column: number;
}

interface EditorProps {
  /** The initial text. */
  text: string;
  error: JsonError | null;
  onText: (text: string) => void;
}

/** Counts the lines without splitting the text. */
function linesOf(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

export function Editor({ text, error, onText }: EditorProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const top = useSignal(0);
  const height = useSignal(600);
  const lines = useSignal(1);
  useLayoutEffect(() => {
    const own = area.current!;
    own.value = text;
    lines.value = linesOf(text);
    own.setSelectionRange(0, 0);
    own.focus();
    const observer = new ResizeObserver(() => (height.value = own.clientHeight));
    observer.observe(own);
    return () => observer.disconnect();
  }, []);
  const first = Math.floor(top.value / LINE);
  const shown = Math.min(lines.value - first, Math.ceil(height.value / LINE) + 1);
  return (
    <div class="editor grow">
      <div class="numbers number dim mono" aria-hidden="true">
        <div style={{ transform: `translateY(${first * LINE - top.value}px)` }}>
          {Array.from({ length: Math.max(0, shown) }, (_, index) => (
            <div key={index} class={first + index + 1 === error?.line ? "failed tone ground" : ""}>
              {first + index + 1}
            </div>
          ))}
        </div>
      </div>
      <textarea
        ref={area}
        class="grow"
        data-testid="fork-editor"
        aria-label="The state as JSON"
        aria-invalid={error !== null}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        wrap="off"
        onScroll={({ currentTarget }) => (top.value = currentTarget.scrollTop)}
        onInput={({ currentTarget: { value } }) => {
          lines.value = linesOf(value);
          onText(value);
        }}
      />
    </div>
  );
}
