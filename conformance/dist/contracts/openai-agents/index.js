import { contract } from "../../suite/suite.js";
export default contract({ contract: "openai-agents", url: import.meta.url, expectations: [], programs: {} });
