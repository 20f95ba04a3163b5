// Splits code into what an editor would colour.

export interface Piece {
  kind: "comment" | "text" | "word" | null;
  text: string;
}

const TOKEN =
  /(?<comment>\/\/[^\n]*)|(?<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|(?<word>\b(?:import|from|export|const|let|await|async|new|if|else|for|of|return|null|undefined|true|false|throw|function|require|console)\b)/g;

export function piecesOf(code: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of code.matchAll(TOKEN)) {
    if (match.index > at) pieces.push({ kind: null, text: code.slice(at, match.index) });
    const { comment, text } = match.groups!;
    pieces.push({ kind: comment !== undefined ? "comment" : text !== undefined ? "text" : "word", text: match[0] });
    at = match.index + match[0].length;
  }
  if (at < code.length) pieces.push({ kind: null, text: code.slice(at) });
  return pieces;
}
