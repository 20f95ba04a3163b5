import type { SessionStore } from "./store.js";
declare const _default: import("../../suite/suite.js").Contract<SessionStore>;
export default _default;
