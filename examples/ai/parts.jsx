// What the page shows: messages, calls of the tool, and versions.
export const textOf = ({ parts }) => parts.map(({ text = "" }) => text).join("");

function MailCall({ part: { state, input, output, errorText, approval }, onAnswer }) {
  const outcome = {
    "approval-requested": "Waiting for an answer",
    "approval-responded": approval?.approved ? "Approved" : "Denied",
    "output-available": output,
    "output-denied": "Denied",
    "output-error": errorText,
  };
  return (
    <section className="tool" aria-label="Tool call">
      <p>
        Send “{input?.text}” to <strong>{input?.to}</strong>
      </p>
      {state === "approval-requested" && onAnswer ? (
        <div className="row">
          <button onClick={() => onAnswer({ id: approval.id, approved: true })}>Approve</button>
          <button onClick={() => onAnswer({ id: approval.id, approved: false })}>Deny</button>
        </div>
      ) : (
        <p className="soft">{outcome[state] ?? "Running"}</p>
      )}
    </section>
  );
}

/** Without `onAnswer` and `onEdit`, the message can only be read. */
export function Message({ message, onAnswer, onEdit }) {
  return (
    <li className={message.role}>
      <span className="soft">{message.role === "user" ? "You" : "Assistant"}</span>
      {message.parts.map((part, at) => {
        if (part.type === "text") return <p key={at}>{part.text}</p>;
        if (part.type === "tool-sendMail") return <MailCall key={at} part={part} onAnswer={onAnswer} />;
        return null;
      })}
      {message.role === "user" && onEdit && (
        <button className="small" aria-label={`Edit “${textOf(message)}”`} onClick={() => onEdit(message)}>
          Edit
        </button>
      )}
    </li>
  );
}

export function Versions({ versions, current, addressOf, onFork }) {
  return (
    <aside aria-label="Versions">
      <h2>Versions</h2>
      <p className="soft">Each save is a version. Editing and regenerating remove none of them.</p>
      <ol>
        {versions.map(({ version, messages, savedAt, text }) => (
          <li key={version}>
            <a href={addressOf(version)} aria-current={version === current ? "page" : undefined}>
              Version {version}
            </a>
            <span className="soft">
              {new Date(savedAt).toLocaleTimeString()}, {messages} {messages === 1 ? "message" : "messages"}
            </span>
            <p className="cut">{text}</p>
            <button className="small" aria-label={`Fork from version ${version}`} onClick={() => onFork(version)}>
              Fork from here
            </button>
          </li>
        ))}
      </ol>
    </aside>
  );
}
