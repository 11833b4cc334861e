// chat.jsx - src/main.jsx of an application with React: a conversation that can be stopped
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { useChat, useModel } from 'glassformer/react';

// A model that was made for conversations has its own template: leave this out then, and take its URL or hf:owner/name.
const LOADING = { chatTemplate: '{% for m in messages %}{{ m.content }}\n{% endfor %}' };

function Chat() {
  const { model, progress, error: failed } = useModel('/stories-1m.gguf', LOADING);
  const { messages, running, error, send, stop } = useChat(model, { maxTokens: 60 });
  const [text, setText] = useState('Once upon a time');
  if (failed) return <p role="alert">{failed.message}</p>;
  if (!model) return <progress value={progress?.loaded} max={progress?.total ?? undefined} />;
  const submit = (event) => {
    event.preventDefault();
    setText('');
    send(text); // appends the message and the answer to `messages`
  };
  return (
    <form onSubmit={submit}>
      {messages.map(({ role, content }, i) => (
        <p key={i}>
          <b>{role}</b> {content}
        </p>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <input value={text} onChange={(event) => setText(event.target.value)} aria-label="Message" />
      <button type={running ? 'button' : 'submit'} onClick={running ? stop : undefined}>
        {running ? 'Stop' : 'Send'}
      </button>
    </form>
  );
}

createRoot(document.body.appendChild(document.createElement('main'))).render(<Chat />);
