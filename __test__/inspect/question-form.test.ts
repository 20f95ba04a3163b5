// Tests what is recognized in the value of a question.
import { expect, test } from "vitest";
import { firstLine, formOf } from "../../ts/inspect/questions/form.js";

test.each([
  ["Refund?", "Refund?", null, null, []],
  [{ question: "Refund?" }, "Refund?", null, null, []],
  [{ message: "Refund?", options: ["a", { value: "b" }, { label: "c" }] }, "Refund?", null, null, ["a", "b", "c"]],
  [{ text: "Pay?", tool: "pay", args: { n: 1 } }, "Pay?", "pay", { n: 1 }, []],
  [{ toolCall: { name: "pay", args: [1] } }, "", "pay", [1], []],
  [{ tool_call: { name: "pay" }, prompt: "P" }, "P", "pay", null, []],
  [{ question: "", other: 1 }, '{"question":"","other":1}', null, null, []],
  [{ choices: [1, 2] }, '{"choices":[1,2]}', null, null, []],
  [7, "7", null, null, []],
  [null, "null", null, null, []],
  [undefined, "", null, null, []],
  [[], "[]", null, null, []],
  [1n, "", null, null, []],
])("value %#", (value, text, tool, args, choices) => {
  const form = formOf(value);
  expect([form.text, form.tool, form.args, form.choices]).toEqual([text, tool, args, choices]);
});

test("approves and rejects with a choice that means it, and otherwise with true and false", () => {
  const usual = (value: unknown) => {
    const { approve, reject } = formOf(value);
    return [approve, reject(undefined), reject("why")];
  };
  expect(usual("Refund?")).toEqual([true, false, false]);
  expect(usual({ question: "?", choices: ["Approve", "Reject"] })).toEqual(["Approve", "Reject", "Reject"]);
  expect(usual({ question: "?", choices: ["Lisbon", "Porto"] })).toEqual([true, false, false]);
  const middleware = {
    actionRequests: [
      { name: "a", args: { n: 1 }, description: "A?" },
      { name: "b", args: {} },
    ],
    reviewConfigs: [{ actionName: "a", allowedDecisions: ["approve", "reject"] }],
  };
  const both = (decision: object) => ({ decisions: [decision, decision] });
  expect(usual(middleware)).toEqual([
    both({ type: "approve" }),
    both({ type: "reject" }),
    both({ type: "reject", message: "why" }),
  ]);
  expect(firstLine(formOf(middleware))).toBe('a, b([{"n":1},{}]) A?');
  const inbox = {
    action_request: { action: "pay", args: { n: 1 } },
    config: { allow_accept: true, allow_respond: true },
    description: "Pay?\nNow?",
  };
  expect(usual([inbox])).toEqual([
    [{ type: "accept", args: null }],
    [{ type: "ignore", args: null }],
    [{ type: "response", args: "why" }],
  ]);
  expect(firstLine(formOf(inbox))).toBe('pay({"n":1}) Pay?');
  expect(formOf(inbox).choices).toEqual(["accept", "respond"]);
});
