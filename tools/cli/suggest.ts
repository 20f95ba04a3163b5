/** Suggests a command for a name that is none. */

/** What other tools call it. The names that people type are above the ones that look like them. */
const others: Record<string, string> = {
  runs: "ls",
  list: "ls",
  threads: "ls",
  sessions: "ls",
  dir: "ls",
  ll: "ls",
  status: "ls",
  ps: "ls",
  find: "ls",
  search: "ls",
  log: "show",
  logs: "tail",
  history: "show",
  tree: "show",
  graph: "show",
  steps: "show",
  checkpoints: "show",
  describe: "show",
  view: "show",
  cat: "get",
  print: "get",
  read: "get",
  state: "get",
  value: "get",
  inspect: "get",
  compare: "diff",
  changes: "diff",
  follow: "tail",
  watch: "tail",
  info: "stats",
  du: "stats",
  size: "stats",
  count: "stats",
  usage: "stats",
  ui: "studio",
  web: "studio",
  open: "studio",
  serve: "studio",
  server: "studio",
  dashboard: "studio",
  branch: "fork",
  rewind: "fork",
  rollback: "fork",
  revert: "fork",
  undo: "fork",
  edit: "fork",
  set: "fork",
  checkout: "fork",
  tag: "label",
  labels: "label",
  resolve: "settle",
  dump: "export",
  save: "export",
  load: "import",
  clone: "copy",
  cp: "copy",
  upgrade: "migrate",
  sync: "copy",
  delete: "rm",
  del: "rm",
  remove: "rm",
  drop: "rm",
  clean: "prune",
  cleanup: "prune",
  clear: "prune",
  gc: "prune",
  expire: "prune",
  purge: "prune",
  compact: "vacuum",
  shrink: "vacuum",
  optimize: "vacuum",
  check: "verify",
  fsck: "verify",
  validate: "verify",
  health: "doctor",
  diagnose: "doctor",
  snapshot: "backup",
  recover: "restore",
  example: "demo",
  init: "demo",
  start: "demo",
  try: "demo",
};

/** Returns the names that somebody may have meant: one of another tool, or those that are nearest. */
export function suggested(name: string, known: readonly string[]): string[] {
  const typed = name.toLowerCase();
  const meant = Object.hasOwn(others, typed) ? others[typed]! : undefined;
  if (meant !== undefined && known.includes(meant)) return [meant];
  const begun = known.filter((each) => typed.length >= 2 && each.startsWith(typed));
  if (begun.length > 0) return begun;
  const names = [...known, ...Object.keys(others).filter((each) => known.includes(others[each]!))];
  const near = names.map((each) => ({ each, away: distance(typed, each) }));
  const most = typed.length <= 4 ? 1 : 2;
  const least = Math.min(most, ...near.map(({ away }) => away));
  const found = near.filter(({ away }) => away === least).map(({ each }) => others[each] ?? each);
  const own = found.filter((each) => distance(typed, each) === least);
  return [...new Set(own.length > 0 ? own : found)].slice(0, 3);
}

/** Returns the number of letters that differ. Two letters in the wrong order count as one. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return Number.POSITIVE_INFINITY;
  let above: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + Number(!same));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, above[j - 2]! + 1);
      next.push(least);
    }
    [above, row] = [row, next];
  }
  return row[b.length]!;
}

/** Returns the sentence that suggests a command. It is empty if no name is near. */
export function suggestion(name: string, known: readonly string[]): string {
  const found = suggested(name, known);
  if (found.length === 0) return ": `forkpoint --help` lists the commands";
  return found.length === 1 ? ` (Did you mean ${found[0]}?)` : ` (Did you mean one of ${found.join(", ")}?)`;
}
