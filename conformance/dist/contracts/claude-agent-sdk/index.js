import { contract } from "../../suite/suite.js";
export default contract({ contract: "claude-agent-sdk", url: import.meta.url, expectations: [], programs: {} });
