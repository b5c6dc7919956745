/** Projects with their members, users, and tokens: what the signed-in user may see of them. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { body, http, type Schemas } from "../../api/client";
import { day, moment } from "../../format";
import { Dialog, Empty, Trouble } from "../../parts/parts";
import { useMe } from "../../parts/me";
import { say } from "../../parts/toasts";
import "../../styles/fleet.css";

export default function Admin() {
  const me = useMe().data;
  return (
    <div className="page">
      <div className="head">
        <h1>Admin</h1>
        {me && (
          <span className="quiet">
            signed in as {me.name}
            {me.admin && ", global admin"}; this token may {me.scope}
          </span>
        )}
      </div>
      <Projects />
      <Tokens />
      {me?.admin && <Users />}
    </div>
  );
}

function Projects() {
  const projects = useQuery({ queryKey: ["projects"], queryFn: () => body(http.GET("/api/v1/projects")) });
  return (
    <section className="card" aria-label="Projects">
      <header>
        <h2>Projects</h2>
      </header>
      {projects.error && <Trouble error={projects.error} what="The projects could not be read." />}
      {projects.data?.items.length === 0 && <Empty title="You are in no project yet" />}
      <table className="table">
        <thead>
          <tr>
            {["Project", "What it is for", "Weight", "Members", "Quotas"].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {projects.data?.items.map((project) => (
            <Project key={project.name} project={project} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Project({ project }: { project: Schemas["ProjectView"] }) {
  const params = { path: { project: project.name } };
  const members = useQuery({
    queryKey: ["members", project.name],
    queryFn: () => body(http.GET("/api/v1/projects/{project}/members", { params })),
  });
  const quotas = useQuery({
    queryKey: ["quotas", project.name],
    queryFn: () => body(http.GET("/api/v1/projects/{project}/quotas", { params })),
  });
  return (
    <tr>
      <td>{project.name}</td>
      <td>{project.description}</td>
      <td className="number">{project.weight}</td>
      <td>{members.data?.items.map((member) => `${member.user} (${member.role})`).join(", ")}</td>
      <td className="number">
        {quotas.data?.items.map((quota) => (
          <div key={quota.pool}>
            {quota.pool === "*" ? "all pools" : quota.pool}: sure of {quota.guarantee_chips} chips
            {quota.limit_chips !== null && <>, at most {quota.limit_chips}</>}
          </div>
        ))}
      </td>
    </tr>
  );
}

function Users() {
  const users = useQuery({ queryKey: ["users"], queryFn: () => body(http.GET("/api/v1/users")) });
  return (
    <section className="card" aria-label="Users">
      <header>
        <h2>Users</h2>
      </header>
      {users.error && <Trouble error={users.error} what="The users could not be read." />}
      <table className="table">
        <thead>
          <tr>
            {["User", "Since", "Kind"].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {users.data?.items.map((user) => (
            <tr key={user.name}>
              <td>{user.name}</td>
              <td className="number">{day(user.created_at_ms)}</td>
              <td>
                {user.admin ? "global admin" : "user"}
                {user.disabled && ", disabled"}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Tokens() {
  const queries = useQueryClient();
  const [making, setMaking] = useState(false);
  const tokens = useQuery({ queryKey: ["tokens"], queryFn: () => body(http.GET("/api/v1/tokens")) });
  const revoke = useMutation({
    mutationFn: (token: string) =>
      body(http.DELETE("/api/v1/tokens/{token_id}", { params: { path: { token_id: token } } })),
    onSuccess: () => {
      say("The token opens nothing any more");
      void queries.invalidateQueries({ queryKey: ["tokens"] });
    },
  });
  return (
    <section className="card" aria-label="Tokens">
      <header>
        <h2 className="grow">Tokens</h2>
        <button type="button" onClick={() => setMaking(true)}>
          New token
        </button>
      </header>
      {(tokens.error ?? revoke.error) && <Trouble error={tokens.error ?? revoke.error} what="That did not work." />}
      <table className="table">
        <thead>
          <tr>
            {["Token", "Of", "May", "Made", "Expires", "Last used", ""].map((title) => (
              <th key={title} scope="col">
                {title || <span className="unseen">Revoke</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="number">
          {tokens.data?.items.map((token) => (
            <tr key={token.id}>
              <td>
                {token.name} <span className="mono quiet">{token.id}</span>
              </td>
              <td>{token.user ?? token.kind}</td>
              <td>{token.scope}</td>
              <td>{day(token.created_at_ms)}</td>
              <td>{token.expires_at_ms === null ? "never" : moment(token.expires_at_ms)}</td>
              <td>{token.last_used_at_ms === null ? "never" : moment(token.last_used_at_ms)}</td>
              <td>
                <button
                  type="button"
                  className="danger"
                  aria-label={`Revoke ${token.name}`}
                  disabled={revoke.isPending}
                  onClick={() => revoke.mutate(token.id)}
                >
                  Revoke
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {making && <NewToken onClose={() => setMaking(false)} />}
    </section>
  );
}

function NewToken({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [user, setUser] = useState("");
  const [scope, setScope] = useState<Schemas["Scope"]>("write");
  const make = useMutation({
    mutationFn: () => body(http.POST("/api/v1/tokens", { body: { kind: "user", name, user: user || null, scope } })),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["tokens"] }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    make.mutate();
  };
  return (
    <Dialog title="New token" onClose={onClose}>
      {make.data ? (
        <>
          <p>This is the only time that it is shown:</p>
          <code className="made-token">{make.data.token}</code>
          <button type="button" onClick={onClose}>
            Done
          </button>
        </>
      ) : (
        <form className="body" onSubmit={submit}>
          <label className="field">
            Name
            <input type="text" value={name} required onChange={(event) => setName(event.target.value)} />
            <small>What it is for, so that one knows which to revoke.</small>
          </label>
          <label className="field">
            Of user
            <input type="text" value={user} onChange={(event) => setUser(event.target.value)} />
            <small>Your own if this is left empty.</small>
          </label>
          <label className="field">
            May
            <select value={scope} onChange={(event) => setScope(event.target.value as Schemas["Scope"])}>
              <option>read</option>
              <option>write</option>
              <option>admin</option>
            </select>
          </label>
          {make.error && <Trouble error={make.error} what="It was not made." />}
          <button type="submit" className="primary" disabled={make.isPending}>
            Make it
          </button>
        </form>
      )}
    </Dialog>
  );
}
