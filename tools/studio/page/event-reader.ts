// Reads the text of an event stream, piece by piece.

export interface ServerEvent {
  id: string | undefined;
  event: string;
  data: string;
}

/** Returns a function that takes pieces of the stream and calls `take` for each complete event. */
export function eventReader(take: (event: ServerEvent) => void): (piece: string) => void {
  let rest = "";
  let fields: { id?: string; event?: string; data?: string } = {};
  return (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      if (line === "") {
        if (fields.data !== undefined) take({ id: fields.id, event: fields.event ?? "message", data: fields.data });
        fields = {};
        continue;
      }
      const at = line.indexOf(":");
      // A line that begins with a colon is a comment.
      if (at <= 0) continue;
      const name = line.slice(0, at);
      const value = line.slice(at + 1).replace(/^ /, "");
      if (name === "data") fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`;
      else if (name === "id" || name === "event") fields[name] = value;
    }
  };
}
