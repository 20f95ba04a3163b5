import { prove } from "../prove.js";

prove("openai-agents");
