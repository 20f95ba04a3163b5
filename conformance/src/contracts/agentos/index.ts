import { contract } from "../../suite/suite.js";

export default contract<any>({ contract: "agentos", url: import.meta.url, expectations: [], programs: {} });
