// A chat that outlives its page and its server: the AI SDK, a plain Node server, and Forkpoint. The chats are in `chats.db`.
import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import {
  JsonToSseTransformStream,
  UI_MESSAGE_STREAM_HEADERS,
  convertToModelMessages,
  generateId,
  isStepCount,
  streamText,
  tool,
  toUIMessageStream,
} from "ai";
import { build } from "esbuild";
import { ForkpointChats } from "forkpoint/ai";
import { z } from "zod";
import { model } from "./model.mjs";

const chats = new ForkpointChats("chats.db");

const tools = {
  sendMail: tool({
    description: "Sends a mail",
    inputSchema: z.object({ to: z.string(), text: z.string() }),
    needsApproval: true,
    execute: async ({ to, text }) => {
      appendFileSync("sent-mails.txt", `${to}: ${text}\n`);
      return `Sent to ${to}`;
    },
  }),
};

/** POST /api/chat: the browser sends all messages of the chat, and gets the answer as a stream. */
async function answer(request, response) {
  const { id, messages } = await json(request);
  // In your app: check here, and in the functions below, that the chat belongs to the user.
  // First, because saving the messages stores the approvals as answered. An approval that was used before throws CONFLICT.
  const approvals = await chats.takeApprovals(id, messages);
  const activeStreamId = generateId();
  try {
    // The stream exists before the chat names it, so that a reloaded page finds it. It is made to its end, even if the browser leaves.
    const stream = await chats.createNewResumableStream(activeStreamId, async ({ signal }) => {
      // Before the model starts, so that a reloaded page finds the question.
      await chats.saveChat({ id, messages, activeStreamId });
      // A killed server may have left a tool call without a result.
      const prompt = await convertToModelMessages(messages, { ignoreIncompleteToolCalls: true });
      const result = streamText({ model, tools, messages: prompt, stopWhen: isStepCount(5), abortSignal: signal });
      const made = toUIMessageStream({
        stream: result.stream,
        originalMessages: messages,
        generateMessageId: generateId,
        onStepEnd: ({ messages: all }) => chats.saveChat({ id, messages: all }),
        onEnd: ({ messages: all }) => chats.saveChat({ id, messages: all, endedStreamId: activeStreamId }),
      });
      return made.pipeThrough(new JsonToSseTransformStream());
    });
    response.writeHead(200, UI_MESSAGE_STREAM_HEADERS);
    await pipeline(Readable.fromWeb(stream), response);
  } catch (error) {
    // Nothing was sent, so no tool has run.
    if (!response.headersSent) for (const { approvalId } of approvals) await chats.releaseApproval(id, approvalId);
    throw error;
  }
}

/** GET /api/chat/<id>/stream: the answer that is being written, from its beginning. `useChat` with `resume` asks for it. */
async function resume(id, response) {
  const streamId = (await chats.readChat(id))?.activeStreamId;
  const stream = streamId && (await chats.resumeExistingStream(streamId));
  if (!stream) return response.writeHead(204).end();
  response.writeHead(200, UI_MESSAGE_STREAM_HEADERS);
  await pipeline(Readable.fromWeb(stream), response);
}

/** GET /api/chat/<id>: the messages, or those of a version, and the newest versions with the text that each ends with. */
async function read(id, version) {
  const { messages, activeStreamId } = (await chats.readChat(id)) ?? { messages: [], activeStreamId: null };
  const { versions } = await chats.versions(id, { limit: 30 });
  for (const each of versions) {
    const last = (await chats.loadChat(id, { version: each.version })).at(-1);
    each.text = last?.parts.findLast(({ type }) => type === "text")?.text ?? "A tool call";
  }
  return { messages: version ? await chats.loadChat(id, { version }) : messages, activeStreamId, versions };
}

const fileOf = (name) => fileURLToPath(new URL(name, import.meta.url));
const page = readFileSync(fileOf("index.html"));
const { outputFiles } = await build({
  entryPoints: [fileOf("page.jsx")],
  bundle: true,
  write: false,
  format: "esm",
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"' },
});
const script = outputFiles[0].contents;

async function route(request, response) {
  const { pathname, searchParams } = new URL(request.url, "http://localhost");
  const version = searchParams.has("version") ? Number(searchParams.get("version")) : undefined;
  const [, chat = ""] = /^\/api\/chat\/([^/]+)/.exec(pathname) ?? [];
  const id = decodeURIComponent(chat);
  const send = (type, body) => response.writeHead(200, { "content-type": type }).end(body);
  switch (`${request.method} ${chat ? pathname.replace(chat, ":id") : pathname}`) {
    case "POST /api/chat":
      return answer(request, response);
    case "GET /api/chat/:id/stream":
      return resume(id, response);
    case "GET /api/chat/:id":
      return send("application/json", JSON.stringify(await read(id, version)));
    case "POST /api/chat/:id/stop":
      return send("application/json", JSON.stringify((await chats.stop(id)).message));
    case "POST /api/chat/:id/fork":
      return send("text/plain", await chats.fork(id, version && { version }));
    case "GET /page.js":
      return send("text/javascript", script);
    case "GET /":
      if (searchParams.has("chat")) return send("text/html", page);
      return response.writeHead(302, { location: `/?chat=${generateId()}` }).end();
    default:
      return response.writeHead(404).end(`There is no ${pathname}`);
  }
}

const server = createServer((request, response) => {
  route(request, response).catch((error) => {
    if (response.headersSent) return response.destroy();
    // The page shows this text.
    if (error.taken) return response.writeHead(409).end("This question has already been answered. Reload the page.");
    console.error(error);
    return response.writeHead(500).end(error.message);
  });
});
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`Open http://127.0.0.1:${server.address().port}/`);
});
