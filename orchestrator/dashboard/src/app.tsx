/** Which page an address shows, and the frame around it. */

import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useSyncExternalStore } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { live } from "./api/live";
import { session } from "./api/session";
import { SignIn } from "./pages/sign-in";
import { Empty } from "./parts/parts";
import { Shell } from "./shell";

const Admin = lazy(() => import("./pages/admin/admin"));
const Fleet = lazy(() => import("./pages/fleet/fleet"));
const Jobs = lazy(() => import("./pages/jobs/jobs"));
const Job = lazy(() => import("./pages/job/job"));
const Overview = lazy(() => import("./pages/overview/overview"));
const Queue = lazy(() => import("./pages/queue/queue"));
const Usage = lazy(() => import("./pages/usage/usage"));

export function App() {
  const token = useSyncExternalStore(session.subscribe, session.token);
  return token === null ? <SignIn /> : <SignedIn key={token} />;
}

function SignedIn() {
  const queries = useQueryClient();
  useEffect(() => {
    const stop = live.start();
    return () => {
      stop();
      queries.clear();
    };
  }, [queries]);
  return (
    <Shell>
      <Suspense fallback={null}>
        <Switch>
          <Route path="/" component={Overview} />
          <Route path="/sign-in">
            <Redirect to="/" replace />
          </Route>
          <Route path="/jobs" component={Jobs} />
          <Route path="/jobs/:job" component={Job} />
          <Route path="/queue" component={Queue} />
          <Route path="/fleet" component={Fleet} />
          <Route path="/usage" component={Usage} />
          <Route path="/admin" component={Admin} />
          <Route component={Nowhere} />
        </Switch>
      </Suspense>
    </Shell>
  );
}

function Nowhere() {
  const [path] = useLocation();
  return (
    <Empty title="There is no such page">
      <p>
        Nothing is at <code>{path}</code>. The pages are in the bar above.
      </p>
    </Empty>
  );
}
