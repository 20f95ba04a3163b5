// Prints the demo's steps and tables, and its claims after checking them.

export function say(text) {
  console.log(text);
}

/** Prints groups of rows as one aligned table. Numbers are aligned to the right. */
export function table(heading, ...groups) {
  const all = groups.flat();
  const columns = heading.map((title, i) => ({
    width: Math.max(title.length, ...all.map((row) => String(row[i]).length)),
    pad: all.some((row) => typeof row[i] === "number") ? "padStart" : "padEnd",
  }));
  const print = (cells) => {
    const aligned = columns.map(({ width, pad }, i) => String(cells[i])[pad](width));
    say(`  ${aligned.join("  ").trimEnd()}`);
  };
  print(heading);
  for (const rows of groups) {
    print(columns.map(({ width }) => "─".repeat(width)));
    rows.forEach(print);
  }
}

/** Formats the time of day with milliseconds. */
export function clock(time) {
  return new Date(time).toISOString().slice(11, 23);
}

/** Prints a claim with a tick if it is true. Otherwise the process fails. */
export function claim(text, holds) {
  say(`  ${holds ? "✓" : "✗ NOT TRUE:"} ${text}`);
  if (!holds) process.exitCode = 1;
}
