import type { Claim } from '../../foundation/messages/claims.ts';
import type { HintConsumer } from '../../foundation/messages/hints/hints.ts';
import type { JobWorker } from '../../foundation/messages/jobs/jobs.ts';
import type { Probe } from '../../foundation/observability/readiness.ts';
import type { KindRegistration } from '../../foundation/resources/resources.ts';
import type { RunningTask } from '../../foundation/schedules/periodic.ts';
import type { GrpcService } from '../api/grpc.ts';
import type { AnyAuthenticator } from '../auth/authenticator.ts';
import type { PluginStage } from '../chain/stages.ts';
import type { DeclaredService } from '../grpc/compiled-service.ts';
import type { CompiledRoute } from '../http/compiled-route.ts';

/** A task that runs again and again while its plugin is active. */
export interface Task {
  readonly name: string;
  readonly start: (signal: AbortSignal) => RunningTask;
}

/** Ends what a plugin does in the background. */
export interface Drain {
  readonly name: string;
  readonly finish: (signal: AbortSignal) => Promise<void>;
}

/** A value added to an extension point. */
export interface Contribution {
  readonly pointId: string;
  readonly value: unknown;
}

/** What takes up hints or jobs, from the activation to the end. */
export interface Worker {
  /** Id of the hint or the job. */
  readonly name: string;
  readonly start: () => HintConsumer | JobWorker;
}

/** An event listener, which receives events from the publication to the end. */
export interface Listener {
  /** Id of the event. */
  readonly name: string;
  /** Events wait until `begun` resolves; false drops them; absent: delivered at once. Returns the undo. */
  readonly start: (begun?: Promise<boolean>) => () => void;
}

/** All that one set-up registered. Nothing of it is visible before the whole is published. */
export class Effects {
  readonly routes: CompiledRoute[] = [];
  readonly declaredServices: GrpcService[] = [];
  /** What was declared; compiled when the set-up is over, or `lazy`: it takes what only gRPC needs. */
  grpc: readonly DeclaredService[] = [];
  readonly kinds: KindRegistration[] = [];
  readonly authenticators: AnyAuthenticator[] = [];
  readonly stages: PluginStage[] = [];
  readonly provided = new Map<string, unknown>();
  readonly contributions: Contribution[] = [];
  readonly tasks: Task[] = [];
  readonly drains: Drain[] = [];
  readonly probes: Probe[] = [];
  readonly listeners: Listener[] = [];
  readonly hints: Worker[] = [];
  readonly workers: Worker[] = [];
  /** What is one plugin's, or means one thing. */
  readonly claims: Claim[] = [];
  /** Run in reverse order at stop. */
  readonly undo: (() => void | Promise<void>)[] = [];
}

/** The names of a plugin's live effects, for the operator's report. */
export type EffectReport = ReturnType<typeof reportEffects>;

/** Names what is there. */
export function reportEffects(effects: Effects) {
  return {
    routes: effects.routes.map((r) =>
      r.kind === 'router' ? `* ${r.pattern}` : `${r.methods[0]} ${r.pattern}`,
    ),
    grpc: effects.grpc.map((service) => service.name),
    kinds: effects.kinds.map(({ kind }) => kind),
    services: [...effects.provided.keys()],
    contributions: effects.contributions.map((c) => c.pointId),
    authenticators: effects.authenticators.map((a) => a.name),
    stages: effects.stages.map((s) => s.stage.name),
    tasks: effects.tasks.map((t) => t.name),
    probes: effects.probes.map((p) => p.name),
    events: effects.listeners.map((l) => l.name),
    queues: effects.hints.map((h) => h.name),
    jobs: effects.workers.map((w) => w.name),
  };
}
