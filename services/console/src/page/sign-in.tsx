import type { TargetedSubmitEvent, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { Mark } from './marks.tsx';
import { useShell } from './shell.tsx';

export function SignIn(): VNode {
  const shell = useShell();
  const [token, setToken] = useState('');
  const [isBusy, setBusy] = useState(false);
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setBusy(true);
    void shell.signIn({ token }).then(() => setBusy(false));
  };
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <h1>
          <Mark /> Holdfast
        </h1>
        <p>
          Open the link that <code>npm start</code> printed, or the one that <code>npm run -s holdfast ui</code> prints
          now. Each link works once.
        </p>
        <label>
          Or paste a token, such as the one in your kubeconfig
          <input
            type="password"
            autocomplete="off"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
            required
          />
        </label>
        {shell.refusal.value !== '' && (
          <p class="refusal" role="alert">
            {shell.refusal.value}
          </p>
        )}
        <button type="submit" class="primary" disabled={isBusy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
