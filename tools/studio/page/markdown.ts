// Reads light markdown: paragraphs, headings, lists, quotes, code and emphasis. Everything else stays text: links, images, HTML.

/** A piece of a line. */
export interface Span {
  kind: "text" | "code" | "strong" | "em";
  text: string;
}

/** A block of lines. An item has its leading mark. */
type Lines =
  | { kind: "paragraph" | "quote" | "heading"; lines: Span[][] }
  | { kind: "item"; mark: string; depth: number; lines: Span[][] };

export type Block =
  | Lines
  | { kind: "code"; text: string }
  | { kind: "rule" }
  /** The rest of a text with too many blocks, shown as it is. */
  | { kind: "rest"; text: string };

/** The maximum number of pieces of a text, which limits the elements for a hostile text. */
const PIECES = 400;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^#{1,6} +/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)]) +/;
const QUOTE = /^> ?/;
const RULE = /^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$/;

/** Matches code, bold and italic pieces. Each alternative ends at its own sign, so the time is linear. */
const PIECE =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|__([^_\n]+)__|(?<![\w*])\*([^*\s][^*\n]*)\*(?![\w*])|(?<![\w_])_([^_\s][^_\n]*)_(?![\w_])/g;

/** Splits a line into pieces. */
export function spansOf(line: string): Span[] {
  const spans: Span[] = [];
  let end = 0;
  for (const found of line.matchAll(PIECE)) {
    const [whole, code, strong, other, em, italic] = found;
    if (found.index > end) spans.push({ kind: "text", text: line.slice(end, found.index) });
    const kind = code !== undefined ? "code" : (strong ?? other) !== undefined ? "strong" : "em";
    spans.push({ kind, text: code ?? strong ?? other ?? em ?? italic ?? "" });
    end = found.index + whole.length;
  }
  if (end < line.length) spans.push({ kind: "text", text: line.slice(end) });
  return spans;
}

/** Returns true for the closing fence of code. */
const isEnd = (line: string, fence: string): boolean => FENCE.test(line) && line.trim().startsWith(fence);

/** Reads a text as blocks. */
export function blocksOf(text: string): Block[] {
  const lines = text.split(/\r\n|\n|\r/);
  const blocks: Block[] = [];
  let pieces = 0;
  /** Whether the next line continues the last block. */
  let isOpen = false;
  for (let at = 0; at < lines.length; at++) {
    if (pieces > PIECES) {
      blocks.push({ kind: "rest", text: lines.slice(at).join("\n") });
      return blocks;
    }
    const line = lines[at]!;
    const fence = FENCE.exec(line)?.[1];
    if (fence !== undefined) {
      let end = at + 1;
      while (end < lines.length && !isEnd(lines[end]!, fence)) end += 1;
      const code = lines.slice(at + 1, end);
      blocks.push({ kind: "code", text: code.join("\n") });
      pieces += 1;
      at = end;
      isOpen = false;
      continue;
    }
    if (line.trim() === "") {
      isOpen = false;
      continue;
    }
    if (RULE.test(line)) {
      blocks.push({ kind: "rule" });
      pieces += 1;
      isOpen = false;
      continue;
    }
    const [indent, mark] = ITEM.exec(line)?.slice(1) ?? [];
    const last = isOpen ? blocks.at(-1) : undefined;
    const add = (block: Lines, rest: string, joins: boolean) => {
      const spans = spansOf(rest);
      // If a line has too many pieces, the rest keeps its signs.
      const own: Span[] = spans.length > PIECES - pieces ? [{ kind: "text", text: rest }] : spans;
      pieces += own.length + 1;
      if (joins && last !== undefined && "lines" in last) last.lines.push(own);
      else blocks.push({ ...block, lines: [own] });
      isOpen = true;
    };
    if (mark !== undefined) {
      const sign = /^[-*+]$/.test(mark) ? "•" : mark;
      const depth = Math.min(6, Math.floor(indent!.length / 2));
      add({ kind: "item", mark: sign, depth, lines: [] }, line.replace(ITEM, ""), false);
    } else if (HEADING.test(line)) {
      add({ kind: "heading", lines: [] }, line.replace(HEADING, ""), false);
      isOpen = false;
    } else if (QUOTE.test(line)) add({ kind: "quote", lines: [] }, line.replace(QUOTE, ""), last?.kind === "quote");
    else add({ kind: "paragraph", lines: [] }, line.trim(), last?.kind === "paragraph" || last?.kind === "item");
  }
  return blocks;
}
