import peer = require("@langchain/langgraph-checkpoint");
import recovery = require("./langgraph/recovery.js");
import saver = require("./langgraph/saver.js");

export = { ForkpointSaver: saver.saverOf(peer), recover: recovery.recover };
