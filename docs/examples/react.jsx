// react.jsx - src/main.jsx of an application with React: a story that can be stopped
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { useGeneration, useModel } from 'glassformer/react';

function Story() {
  const { model, progress, error } = useModel('/stories-1m.gguf');
  const { text, running, generate, stop } = useGeneration(model);
  const [prompt, setPrompt] = useState('Once upon a time');
  if (error) return <p role="alert">{error.message}</p>;
  if (!model) return <progress value={progress?.loaded} max={progress?.total ?? undefined} />;
  const write = () => generate(prompt, { maxTokens: 60, seed: 1 });
  return (
    <>
      <input value={prompt} onChange={(event) => setPrompt(event.target.value)} aria-label="Beginning" />
      <button onClick={running ? stop : write}>{running ? 'Stop' : 'Write'}</button>
      <p aria-live="polite">{text}</p>
    </>
  );
}

createRoot(document.body.appendChild(document.createElement('main'))).render(
  <StrictMode>
    <Story />
  </StrictMode>,
);
