// Shows light markdown. A stored text becomes text nodes only.
import { Fragment } from "preact";
import { useMemo } from "preact/hooks";
import { shown } from "./format.js";
import { type Block, type Span, blocksOf } from "./markdown.js";
import { wholeText } from "./value.js";

export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  return (
    <div class="markdown">
      {blocks.map((block, index) => (
        <BlockView key={index} block={block} />
      ))}
    </div>
  );
}

function BlockView({ block }: { block: Block }) {
  switch (block.kind) {
    case "code":
      return (
        <pre class="ground wrap">
          <code>{wholeText(block.text)}</code>
        </pre>
      );
    case "rest":
      return <p class="wrap">{wholeText(block.text)}</p>;
    case "rule":
      return <hr />;
    case "item":
      return (
        <p class="item wrap" style={{ "--depth": String(block.depth) }}>
          <span class="dim">{shown(block.mark, 12)}</span>
          <span>
            <Lines lines={block.lines} />
          </span>
        </p>
      );
    default:
      return (
        <p class={`wrap ${block.kind}`}>
          <Lines lines={block.lines} />
        </p>
      );
  }
}

function Lines({ lines }: { lines: Span[][] }) {
  return (
    <>
      {lines.map((spans, index) => (
        <Fragment key={index}>
          {index > 0 && <br />}
          {spans.map((span, at) => (
            <Piece key={at} span={span} />
          ))}
        </Fragment>
      ))}
    </>
  );
}

function Piece({ span: { kind, text } }: { span: Span }) {
  const safe = wholeText(text);
  if (kind === "code") return <code class="ground">{safe}</code>;
  if (kind === "strong") return <strong>{safe}</strong>;
  return kind === "em" ? <i>{safe}</i> : <>{safe}</>;
}
