/** Who comes without a token is asked for one; it is tried before it is kept. */

import { type FormEvent, useEffect, useState } from "react";
import { ApiProblem, problemOf } from "../api/client";
import { session } from "../api/session";
import icon from "../icon.svg";

export function SignIn() {
  const [token, setToken] = useState("");
  const [trouble, setTrouble] = useState<string | null>(null);
  const [asking, setAsking] = useState(false);
  useEffect(() => {
    document.title = "Sign in · Podwright";
  }, []);

  async function submit(event: FormEvent) {
    event.preventDefault();
    setAsking(true);
    setTrouble(null);
    try {
      await tried(token.trim());
      session.open(token.trim());
    } catch (error) {
      setTrouble(error instanceof ApiProblem ? error.message : "The server does not answer.");
    } finally {
      setAsking(false);
    }
  }

  return (
    <main className="sign-in">
      <form className="card" onSubmit={submit}>
        <div className="row">
          <img src={icon} width={28} height={28} alt="" />
          <h1>Sign in to Podwright</h1>
        </div>
        <label className="field">
          Token
          <input
            type="password"
            autoComplete="off"
            spellCheck={false}
            value={token}
            onChange={(event) => setToken(event.target.value)}
            placeholder="pwt_…"
            autoFocus
            required
          />
        </label>
        {trouble && (
          <div className="note bad" role="alert">
            {trouble}
          </div>
        )}
        <button type="submit" className="primary" disabled={asking || token.trim() === ""}>
          {asking ? "Signing in …" : "Sign in"}
        </button>
        <p className="quiet">
          After <code>podwright up</code> the token is in the file <code>admin.token</code> of the state folder
          (<code>.podwright/</code> unless you chose another). Elsewhere ask an admin, who makes one under Admin, Tokens.
          It stays in this tab only, until you close it or sign out.
        </p>
      </form>
    </main>
  );
}

async function tried(token: string): Promise<void> {
  const answer = await fetch("/api/v1/me", { headers: { Authorization: `Bearer ${token}` } });
  if (answer.status === 401) throw new ApiProblem(401, "The server does not know this token. Was it copied whole?");
  if (answer.status === 403) throw new ApiProblem(403, "This is a token of a cluster or a rank; people need their own.");
  if (!answer.ok) throw problemOf(answer.status, await answer.json().catch(() => null));
}
