import { contract } from "../../suite/suite.js";

export default contract<any>({ contract: "openai-agents", url: import.meta.url, expectations: [], programs: {} });
