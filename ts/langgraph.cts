import peer = require("@langchain/langgraph-checkpoint");
import saver = require("./langgraph/saver.js");

export = { ForkpointSaver: saver.saverOf(peer) };
