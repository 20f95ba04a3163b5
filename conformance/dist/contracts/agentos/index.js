import { contract } from "../../suite/suite.js";
export default contract({ contract: "agentos", url: import.meta.url, expectations: [], programs: {} });
