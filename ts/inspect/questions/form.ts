/** Recognizes the forms of questions: a text, a tool with its arguments, and choices. Programs use many forms. */

/** The content of a question, and the stored forms of its usual answers. */
export interface Form {
  text: string;
  tool: string | null;
  args: unknown;
  choices: string[];
  approve: unknown;
  /** `reason` is a text from the person who answers. */
  reject: (reason: string | undefined) => unknown;
}

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Map);

/** Returns the first of the fields that is a text. */
function textIn(fields: Fields, ...names: string[]): string | undefined {
  for (const name of names) if (typeof fields[name] === "string" && fields[name] !== "") return fields[name];
  return undefined;
}

function firstOf(fields: Fields, ...names: string[]): unknown {
  return names.map((name) => fields[name]).find((value) => value !== undefined);
}

/** Reads the value of a question. */
export function formOf(value: unknown): Form {
  if (!isFields(value)) return isSeveral(value) ? agentInbox(value) : plain(value);
  if (Array.isArray(value["actionRequests"]) && value["actionRequests"].every(isFields)) return middleware(value);
  return isInbox(value) ? agentInbox([value]) : plain(value);
}

/** Reads the question of a middleware: `{ actionRequests, reviewConfigs }`, with a decision for each action. */
function middleware(value: Fields): Form {
  const actions = value["actionRequests"] as Fields[];
  const configs = Array.isArray(value["reviewConfigs"]) ? value["reviewConfigs"].filter(isFields) : [];
  const decisions = (decision: Fields) => ({ decisions: actions.map(() => decision) });
  const names = actions.map((action) => textIn(action, "name", "action") ?? "");
  const args = actions.map((action) => firstOf(action, "args", "arguments") ?? null);
  const texts = actions.map((action) => textIn(action, "description")).filter((text) => text !== undefined);
  return {
    text: texts.join("\n\n"),
    ...toolOf(names, args),
    choices: [...new Set(configs.flatMap((config) => choicesIn(config["allowedDecisions"])))],
    approve: decisions({ type: "approve" }),
    reject: (message) => decisions({ type: "reject", ...(message !== undefined && { message }) }),
  };
}

/** Matches an agent inbox's question, or a list: `{ action_request: { action, args }, config, description }`. */
const isInbox = (value: unknown): value is Fields => isFields(value) && isFields(value["action_request"]);

const isSeveral = (value: unknown): value is Fields[] =>
  Array.isArray(value) && value.length > 0 && value.every(isInbox);

function agentInbox(requests: readonly Fields[]): Form {
  const actions = requests.map((request) => request["action_request"] as Fields);
  const config = requests.map((request) => request["config"]).find(isFields) ?? {};
  const allowed = ["accept", "edit", "respond", "ignore"].filter((each) => config[`allow_${each}`] === true);
  const answers = (answer: Fields) => requests.map(() => answer);
  return {
    text: requests.map((request) => textIn(request, "description") ?? "").join("\n\n"),
    ...toolOf(
      actions.map((action) => textIn(action, "action", "name") ?? ""),
      actions.map((action) => action["args"] ?? null),
    ),
    choices: allowed,
    approve: answers({ type: "accept", args: null }),
    reject: (reason) =>
      answers(reason === undefined ? { type: "ignore", args: null } : { type: "response", args: reason }),
  };
}

function toolOf(names: readonly string[], args: readonly unknown[]): Pick<Form, "tool" | "args"> {
  return { tool: names.join(", "), args: args.length === 1 ? args[0] : [...args] };
}

/** Reads a text, or an object with the usual fields of questions. */
function plain(value: unknown): Form {
  const fields = isFields(value) ? value : {};
  const call = [fields["toolCall"], fields["tool_call"], fields["call"], fields].find(
    (each): each is Fields => isFields(each) && textIn(each, "tool", "toolName", "name", "action") !== undefined,
  );
  const choices = [fields["choices"], fields["options"], fields["allowed"], fields["answers"]]
    .map(choicesIn)
    .find((list) => list.length > 0);
  const own = textIn(fields, "question", "text", "message", "prompt", "description", "title", "ask", "reason");
  const said = typeof value === "string" ? value : own;
  return {
    text: said ?? (isFields(value) && call !== undefined ? "" : shortJson(value)),
    tool: call === undefined ? null : textIn(call, "tool", "toolName", "name", "action")!,
    args: call === undefined ? null : (firstOf(call, "args", "arguments", "input", "parameters") ?? null),
    choices: choices ?? [],
    approve: choiceLike(choices, /^(yes|ok|approved?|accept(ed)?|allow|confirm|continue)$/i) ?? true,
    reject: () => choiceLike(choices, /^(no|reject(ed)?|den(y|ied)|declined?|cancel|stop|abort)$/i) ?? false,
  };
}

const choiceLike = (choices: readonly string[] | undefined, pattern: RegExp): string | undefined =>
  choices?.find((choice) => pattern.test(choice));

function choicesIn(list: unknown): string[] {
  if (!Array.isArray(list)) return [];
  const names = list.map((each: unknown) =>
    typeof each === "string" ? each : isFields(each) ? textIn(each, "value", "id", "label", "name") : undefined,
  );
  return names.every((name) => name !== undefined) ? names : [];
}

/** The maximum length of the text made for a question without a text. */
const SHORT = 2_000;

function shortJson(value: unknown): string {
  try {
    const json = JSON.stringify(value) ?? "";
    return json.length > SHORT ? `${json.slice(0, SHORT)}…` : json;
  } catch {
    return "";
  }
}

/** Returns the question on one line: the tool with its arguments, then the first line of the text. */
export function firstLine({ text, tool, args }: Pick<Form, "text" | "tool" | "args">): string {
  const call = tool === null ? "" : args === null ? tool : `${tool}(${shortJson(args)})`;
  const line = text.split("\n", 1)[0]!.trim();
  return [call, line].filter((each) => each !== "").join(" ");
}
