import { prove } from "../prove.js";

prove("claude-agent-sdk");
