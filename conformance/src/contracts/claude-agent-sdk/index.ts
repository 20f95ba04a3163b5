import { contract } from "../../suite/suite.js";

export default contract<any>({ contract: "claude-agent-sdk", url: import.meta.url, expectations: [], programs: {} });
