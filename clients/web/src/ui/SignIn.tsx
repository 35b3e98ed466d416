import { useState } from "preact/hooks";

/** Shown when the page has no token, or one that the server no longer takes. */
export function SignIn({ refused, onToken }: { refused: boolean; onToken: (token: string) => void }) {
  const [text, setText] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    const token = tokenIn(text);
    if (token) onToken(token);
  };
  return (
    <main class="signin" data-testid="sign-in">
      <h1>Drafthand</h1>
      {refused ? (
        <p role="alert">The server didn't accept the token this page had. It may have been started afresh.</p>
      ) : (
        <p>This page needs a token to speak for you.</p>
      )}
      <p>
        Open the link that the server printed when it started. It ends in <code>#token=…</code> and signs you in. It looks
        like this:
      </p>
      <pre>{`${location.origin}/#token=…`}</pre>
      <form onSubmit={submit}>
        <label for="token">Or paste the link or the token here</label>
        <div class="signin-row">
          <input
            id="token"
            type="password"
            autocomplete="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit" class="button primary">
            Sign in
          </button>
        </div>
      </form>
    </main>
  );
}

function tokenIn(text: string): string {
  const match = /#token=([^&\s]+)/.exec(text);
  return match?.[1] === undefined ? text.trim() : decodeURIComponent(match[1]);
}
