// Faults for scripts/seeded.mjs. Each removes a line that a guarantee needs. `from` occurs once in the file. A test of
// `tests` must fail. `suite` is a project of vitest.

const langgraph = (...tests) => ({
  suite: "langgraph",
  tests: tests.map((test) => `integration/langgraph/${test}.test.ts`),
});
const forkpoint = (...tests) => ({ suite: "forkpoint", tests: tests.map((test) => `__test__/${test}.test.ts`) });

export const faults = [
  // The store decides the order: docs/internals/meeting.md, section 1.
  {
    name: "langgraph-order-by-id",
    file: "engine/src/contract/langgraph/ops.rs",
    from: "        order: Order::Save,\n",
    to: "        order: Order::SortKey,\n",
    ...langgraph("clock"),
  },
  {
    name: "agentos-order-by-timestamp",
    file: "engine/src/contract/agentos/ops.rs",
    from: "Op::put_in(Order::SaveOfNumber, header, parts)",
    to: "Op::put(header, parts)",
    ...forkpoint("agentos"),
  },
  {
    name: "helix-order-by-timestamp",
    file: "engine/src/contract/helix/ops.rs",
    from: "    draft.order = Order::SaveOfNumber;\n",
    to: "    draft.order = Order::SortKey;\n",
    ...forkpoint("order"),
  },
  // A run that begins at the newest checkpoint makes no branch.
  {
    name: "langgraph-run-branches",
    file: "ts/contracts/langgraph/following.ts",
    from: "return runIn(config.configurable)?.follows === true && followsInside(config);",
    to: "return runIn(config.configurable)?.follows === undefined && followsInside(config);",
    ...langgraph("following"),
  },
  {
    name: "langgraph-update-branches",
    file: "ts/contracts/langgraph/following.ts",
    from: "    return readAsLatest.get(parents) === parent;\n",
    to: "    return readAsLatest.get(parents) === parent && step === undefined;\n",
    ...langgraph("following"),
  },
  {
    name: "langgraph-update-begins-a-thread-twice",
    file: "ts/contracts/langgraph/following.ts",
    from: "return step === 0 && seen.has(",
    to: "return step === undefined && seen.has(",
    ...langgraph("following"),
  },
  {
    name: "langgraph-run-goes-on-after-a-conflict",
    file: "ts/contracts/langgraph/following.ts",
    from: "if (ends || isOvertaken(error)) runIn",
    to: "if (ends) runIn",
    ...langgraph("following"),
  },
  {
    name: "agentium-run-clears-another",
    file: "engine/src/contract/agentium/ops.rs",
    from: "    if save.follows {\n",
    to: "    if save.follows && save.run_id.is_empty() {\n",
    ...forkpoint("agentium/following"),
  },
  {
    name: "agentium-expects-an-id",
    file: "engine/src/op/expect.rs",
    from: "if sort_key == newest.as_ref() || sort_key == Some(or) {",
    to: "if sort_key.is_some() == newest.is_some() || sort_key == Some(or) {",
    ...forkpoint("agentium/following"),
  },
  {
    name: "tinyagents-run-branches",
    file: "engine/src/contract/tinyagents/ops.rs",
    from: "    if put.expects_parent {\n",
    to: "    if put.expects_parent && parent.is_none() {\n",
    ...forkpoint("tinyagents/following", "tinyagents/parent"),
  },
  // Writes of a deleted run are refused: section 2.
  {
    name: "saves-bring-a-run-back",
    file: "ts/store/seen.ts",
    from: "    if (this.#young.has(name)) return true;\n",
    to: "    if (this.#young.has(name)) return false;\n",
    ...forkpoint("deleted"),
  },
  {
    name: "a-branch-brings-a-thread-back",
    file: "ts/contracts/langgraph/following.ts",
    from: "  if (parent === undefined || !seen.has(nameOf(parent))) return false;\n",
    to: "  if (parent === undefined || seen.has(nameOf(parent))) return false;\n",
    ...langgraph("deleted"),
  },
  {
    name: "a-forced-delete-leaves-the-lease",
    file: "ts/store/removing.ts",
    from: "ends: this.#force",
    to: "ends: false",
    ...forkpoint("deleted"),
  },
  {
    name: "an-effect-outlives-its-run",
    file: "ts/store/effects.ts",
    from: "if (incarnation !== undefined) return slot.incarnation !== incarnation;",
    to: "if (incarnation !== undefined) return slot.incarnation !== null && slot.incarnation !== incarnation;",
    ...langgraph("deleted"),
  },
  {
    name: "a-new-run-gets-a-late-effect",
    file: "ts/store/effects.ts",
    from: "if (incarnation !== undefined) return slot.incarnation !== incarnation;",
    to: "if (incarnation !== undefined) return slot.incarnation === null;",
    ...langgraph("deleted"),
  },
  {
    name: "a-new-run-gets-a-late-save",
    file: "engine/src/op/expect.rs",
    from: "if found != Some(*position) => Err(otherwise.clone()),",
    to: "if found.is_none() => Err(otherwise.clone()),",
    ...forkpoint("begun-again"),
  },
  {
    name: "retention-takes-what-is-leased",
    file: "engine/src/retention/plan.rs",
    from: "held.as_ref().is_some_and(|held| held.contains(&lineage))",
    to: "held.as_ref().is_some_and(|held| held.contains(&lineage) && lineage < 0)",
    ...forkpoint("leases"),
  },
  // A child needs its stored parent: section 3.
  {
    name: "writes-without-a-checkpoint",
    file: "ts/contracts/langgraph/following.ts",
    from: '(seen.has(nameOf(of)) ? "checkpoint" : undefined);',
    to: '(seen.has(nameOf(of)) && of.id === "" ? "checkpoint" : undefined);',
    ...langgraph("deleted"),
  },
  {
    name: "early-writes-do-not-wait",
    file: "ts/contracts/langgraph/early-writes.ts",
    from: "  return !seen && isRun(config) && putsIn(config) !== undefined;\n",
    to: "  return !seen && isRun(config) && putsIn(config) === undefined;\n",
    ...langgraph("deleted", "following"),
  },
  {
    name: "one-early-write-lets-the-others-wait",
    file: "ts/contracts/langgraph/early-writes.ts",
    from: "  if (known !== undefined) return known.come;\n",
    to: '  if (known !== undefined && name === "") return known.come;\n',
    ...langgraph("writes"),
  },
  // An effect belongs to its run: section 4.
  {
    name: "a-late-call-is-a-branch",
    file: "ts/store/effect-places.ts",
    from: "settles = false, joins }: EffectPlace & { at: string },\n",
    to: "settles = false }: EffectPlace & { at: string },\n  joins: undefined = undefined,\n",
    ...langgraph("effects-arrivals"),
  },
  {
    name: "an-edit-before-an-effect-is-a-branch",
    file: "ts/store/effect-attempt.ts",
    from: '...(joins === "run" ? { from: newest, newest: null } : { from: from ?? null, newest }),',
    to: "...(joins === undefined ? { from: newest, newest: null } : { from: from ?? null, newest }),",
    ...langgraph("effects", "effects-arrivals", "meeting"),
  },
  {
    name: "a-branch-pays-again-at-its-own-checkpoint",
    file: "ts/effects/index.ts",
    from: '...(at !== from && { joins: "checkpoint" })',
    to: '...(at === from && { joins: "checkpoint" })',
    ...langgraph("effects-arrivals"),
  },
  // An answer is a row of its question: section 5.
  {
    name: "two-answers-in-one-slot",
    file: "engine/src/op/expect.rs",
    from: "                if !found.iter().any(is_here) {\n",
    to: "                if !found.iter().any(is_here) || *index < i64::MAX {\n",
    ...langgraph("answered-once"),
  },
  {
    name: "a-program-answers-beside-the-store",
    file: "ts/contracts/langgraph/resuming.ts",
    from: "    if (meant.length === 0) return undefined;\n",
    to: "    if (meant.length >= 0) return undefined;\n",
    ...langgraph("answered-once"),
  },
  {
    name: "another-answer-is-dropped",
    file: "ts/contracts/langgraph/resuming.ts",
    from: "    if (other !== undefined) throw hasAnswer(this.#root.threadId, other.answered!);\n",
    to: "    if (other !== undefined && questions.length > 99) throw hasAnswer(this.#root.threadId, other.answered!);\n",
    ...langgraph("answered-once"),
  },
  // Outside of the rules.
  {
    name: "a-poison-run-condemns-its-neighbours",
    file: "ts/contracts/shared/recover-runs.ts",
    from: "  await each(waiting.values(), Attempt.alone);\n",
    to: "  await each(waiting.values(), Attempt.together);\n",
    ...langgraph("poison"),
  },
  // One owner at a time: section 6.
  {
    name: "a-leased-run-takes-all-writes",
    file: "engine/src/contract/fence.rs",
    from: "        None => return unleased(unit, None),\n",
    to: "        None => return,\n",
    ...forkpoint("exclusive"),
  },
  {
    name: "a-scope-does-not-carry-its-lease",
    file: "ts/bridge/scope.ts",
    from: "  const scope = scopeOf(native, subject);\n",
    to: "  const scope = currentScope()?.recovers ? scopeOf(native, subject) : undefined;\n",
    ...forkpoint("exclusive"),
  },
  {
    name: "a-later-request-goes-first",
    file: "ts/store/requests.ts",
    from: "return inOrder(requests)[0];",
    to: "return inOrder(requests).at(-1);",
    ...forkpoint("exclusive"),
  },
  {
    name: "a-holder-does-not-listen",
    file: "ts/store/held-lease.ts",
    from: "    this.stop = request;\n",
    to: "    return;\n",
    ...forkpoint("exclusive"),
  },
  {
    name: "a-killed-waiter-stops-the-queue",
    file: "ts/store/requests.ts",
    from: "LeaseRequest): boolean => valid && !hasEnded(holder)",
    to: 'LeaseRequest): boolean => valid && holder !== ""',
    ...forkpoint("exclusive"),
  },
  {
    name: "a-rollback-keeps-the-work",
    file: "ts/store/undo.ts",
    from: "later.push(...rows.slice(0, at === -1 ? undefined : at).map(({ id }) => id));",
    to: "if (at === -1) later.push(...rows.map(({ id }) => id));",
    ...forkpoint("exclusive"),
  },
  {
    name: "a-rollback-takes-the-effects",
    file: "engine/src/contract/mod.rs",
    from: "    let removes_effects = !matches!(request, Request::Undo(_));\n",
    to: "    let removes_effects = true;\n",
    ...forkpoint("exclusive"),
  },
  {
    name: "a-resume-takes-the-effects-of-undone-work",
    file: "engine/src/contract/agentium/workflow/run.rs",
    from: "    fn store_initial(&mut self) {\n",
    to: "    fn store_initial(&mut self) {\n        self.rewind = true;\n",
    ...forkpoint("scopes"),
  },
];
