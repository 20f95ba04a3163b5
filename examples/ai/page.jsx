// The page of a chat: the SDK's `useChat` with `resume`, and the versions that Forkpoint keeps.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { Message, Versions, textOf } from "./parts.jsx";

const query = new URLSearchParams(location.search);
const id = query.get("chat");
/** The version that the page shows. Undefined: the chat itself. */
const shownVersion = query.has("version") ? Number(query.get("version")) : undefined;
const api = `/api/chat/${encodeURIComponent(id)}`;
const chatAddress = (chat) => `/?chat=${encodeURIComponent(chat)}`;
const versionAddress = (version) => `${chatAddress(id)}&version=${version}`;

async function request(...args) {
  const response = await fetch(...args);
  if (!response.ok) throw new Error(await response.text());
  return response;
}

/** Reads the messages and the list of versions. */
async function read(version) {
  const response = await request(version === undefined ? api : `${api}?version=${version}`);
  return response.json();
}

async function fork(version) {
  const response = await request(`${api}/fork?version=${version}`, { method: "POST" });
  location.assign(chatAddress(await response.text()));
}

function Composer({ edited, onSend, onCancel }) {
  const submit = (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get("text").trim();
    event.target.reset();
    // With the id of a message, the SDK replaces this message and drops those after it.
    if (text) onSend({ text, messageId: edited?.id });
  };
  return (
    <form onSubmit={submit}>
      <label htmlFor="text">{edited ? "Edit your message" : "Message"}</label>
      <div className="row">
        <input
          id="text"
          name="text"
          autoComplete="off"
          autoFocus={edited !== undefined}
          placeholder="A question, or: mail ada@example.com"
          defaultValue={edited && textOf(edited)}
        />
        <button>Send</button>
        {edited && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  );
}

function Chat({ stored, onVersions }) {
  const [edited, setEdited] = useState();
  const { messages, setMessages, sendMessage, regenerate, addToolApprovalResponse, stop, status, error } = useChat({
    id,
    messages: stored.messages,
    resume: stored.activeStreamId !== null,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onFinish: async () => onVersions((await read()).versions),
    transport: new DefaultChatTransport({
      async fetch(...args) {
        const response = await fetch(...args);
        // The answer has ended since the page read the messages.
        if (response.status === 204) {
          const newest = await read();
          setMessages((shown) => (shown === stored.messages ? newest.messages : shown));
          onVersions(newest.versions);
        }
        return response;
      },
    }),
  });
  const isBusy = status === "submitted" || status === "streaming";
  const last = messages.at(-1);
  const isCutOff = !isBusy && (last?.role === "user" || last?.parts.some(({ state }) => state === "streaming"));
  const stopAnswer = async () => {
    // This page leaves the answer, and then the server ends it.
    await stop();
    const message = await (await request(`${api}/stop`, { method: "POST" })).json();
    if (message) setMessages((all) => [...all.filter((each) => each.id !== message.id), message]);
  };
  const send = (message) => {
    setEdited(undefined);
    void sendMessage(message);
  };
  return (
    <div>
      <ol aria-label="Conversation">
        {messages.map((message) => (
          <Message
            key={message.id}
            message={message}
            onAnswer={isBusy || message !== last ? undefined : addToolApprovalResponse}
            onEdit={isBusy ? undefined : setEdited}
          />
        ))}
      </ol>
      <p role="status">{isBusy ? "Writing…" : isCutOff ? "The answer was interrupted." : ""}</p>
      {error && (
        <div className="row" role="alert">
          {error.message} <button onClick={() => location.reload()}>Reload</button>
        </div>
      )}
      {isBusy && <button onClick={() => void stopAnswer()}>Stop</button>}
      {last && !isBusy && <button onClick={() => void regenerate()}>Regenerate</button>}
      <Composer key={edited?.id} edited={edited} onSend={send} onCancel={() => setEdited(undefined)} />
    </div>
  );
}

function OldVersion({ messages }) {
  return (
    <div>
      <p role="status">
        This is version {shownVersion}. <a href={chatAddress(id)}>Back to the chat</a>
      </p>
      <ol aria-label="Conversation">
        {messages.map((message) => (
          <Message key={message.id} message={message} />
        ))}
      </ol>
    </div>
  );
}

function Page({ stored }) {
  const [versions, setVersions] = useState(stored.versions);
  return (
    <>
      {shownVersion === undefined ? (
        <Chat stored={stored} onVersions={setVersions} />
      ) : (
        <OldVersion messages={stored.messages} />
      )}
      <Versions versions={versions} current={shownVersion} addressOf={versionAddress} onFork={fork} />
    </>
  );
}

createRoot(document.querySelector("main")).render(<Page stored={await read(shownVersion)} />);
