/** Suggests a command for an unknown name. */

/** The names of commands in other tools. */
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

/** Returns the commands for another tool's name, or the commands that begin with the name. */
export function suggested(name: string, known: readonly string[]): string[] {
  const typed = name.toLowerCase();
  const meant = Object.hasOwn(others, typed) ? others[typed]! : undefined;
  if (meant !== undefined && known.includes(meant)) return [meant];
  return known.filter((each) => typed.length >= 2 && each.startsWith(typed));
}

/**
 * Returns the sentence that suggests a command. `near` is the parser's suggestion of similar names. The result is empty
 * without suggestions.
 */
export function suggestion(name: string, known: readonly string[], near: string): string {
  const found = suggested(name, known);
  if (found.length === 0) return near === "" ? ": `forkpoint --help` lists the commands" : ` ${near}`;
  return found.length === 1 ? ` (Did you mean ${found[0]}?)` : ` (Did you mean one of ${found.join(", ")}?)`;
}
