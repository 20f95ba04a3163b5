// Puts the states of a thread through a LangGraph saver's `put`, as LangGraph does.

export const place = (thread_id) => ({ configurable: { thread_id, checkpoint_ns: "" } });

/**
 * Returns a function that puts the next state of a thread: `put(channel_values, changed)`. `changed` names the channels
 * that have new values. It resolves to the new config. Each checkpoint has all channel values, and the one before it as its
 * parent. `uuid6` is LangGraph's. `metadata` has further keys of each checkpoint's metadata.
 */
export function putsTo(saver, uuid6, thread, { metadata = {} } = {}) {
  let config = place(thread);
  let channel_versions = {};
  let step = -1;
  return async (channel_values, changed) => {
    step += 1;
    const version = saver.getNextVersion(step);
    const versions = Object.fromEntries(changed.map((channel) => [channel, version]));
    const versions_seen = { __input__: {}, agent: channel_versions };
    channel_versions = { ...channel_versions, ...versions };
    const ts = new Date(1_700_000_000_000 + step).toISOString();
    const checkpoint = { v: 4, id: uuid6(step), ts, channel_values, channel_versions, versions_seen };
    config = await saver.put(config, checkpoint, { source: "loop", step, parents: {}, ...metadata }, versions);
    return config;
  };
}

/** Channels of the growing run that a step never changes. */
const CONSTANT = new Set(["input", "artifacts", "lastTool"]);

/**
 * Returns a function that puts the checkpoints of `growingRun()`. Each field of the state is a channel, and a changed
 * channel has a new value, as with LangGraph's reducers.
 */
export function growingPuts(saver, uuid6) {
  const put = putsTo(saver, uuid6, "run-growing");
  let before;
  return ({ state: { input, scratch, artifacts, diagnostics } }) => {
    const values = { input, ...scratch, artifacts, diagnostics: { ...diagnostics } };
    // A list that has not grown stays the same list.
    const hasGrown = before?.messages.length !== scratch.messages.length;
    values.messages = hasGrown ? [...scratch.messages] : before.messages;
    const isChanged = (channel) => !CONSTANT.has(channel) && values[channel] !== before[channel];
    const changed = Object.keys(values).filter((channel) => before === undefined || isChanged(channel));
    before = values;
    return put(values, changed);
  };
}
