import { type Clock, GatewayError, type Logger, recentMap } from 'agent-gateway';
import { ModelErrors } from '../../contract.ts';
import type { ModelMetrics } from './metrics.ts';

/** When calls to a provider that fails are not made at all. */
interface CircuitSettings {
  /** Failed calls in a row, their retries used up, after which the circuit opens. */
  readonly failures: number;
  /** Milliseconds that it stays open before one call may probe the provider. */
  readonly openMs: number;
}

/** What applies everywhere. */
const DEFAULT_CIRCUIT: CircuitSettings = { failures: 5, openMs: 10_000 };

/** Failures in a row so far, and where those were too many the time (monotonic milliseconds) of the next probe. */
export interface CircuitState {
  readonly failures: number;
  readonly openUntil: number | undefined;
  /** The tenant that all of these were of: its requests may be the cause. Absent where several have seen failures. */
  readonly tenantId?: string | undefined;
}

/** A circuit that lets everything pass. */
export const CLOSED: CircuitState = { failures: 0, openUntil: undefined };

/** How a call was let in: like any other, or alone, to find out whether the provider is back. */
type Admission = 'regular' | 'probe';

/** What a call showed about its provider: it answers, it fails, or nothing. */
type Evidence = 'answers' | 'fails' | 'none';

/**
 * Lets a call in, or not (undefined). After failures of one tenant alone all calls of other tenants are let in. A probe
 * moves the time of the next one on, so that there is one in each `openMs`, and a probe that hangs does not keep other
 * calls out for longer.
 */
export function admit(
  state: CircuitState,
  now: number,
  { openMs }: CircuitSettings,
  tenantId?: string,
): { readonly state: CircuitState; readonly admission: Admission } | undefined {
  const isOthers = state.tenantId !== undefined && state.tenantId !== tenantId;
  if (state.openUntil === undefined || isOthers) return { state, admission: 'regular' };
  if (now < state.openUntil) return undefined;
  return { state: { ...state, openUntil: now + openMs }, admission: 'probe' };
}

/**
 * The state after a call. Any answer closes the circuit. While it is open only a probe's failure counts: calls that had
 * begun before it opened would keep it open for as long as their deadlines are.
 */
export function learn(
  state: CircuitState,
  admission: Admission,
  evidence: Evidence,
  now: number,
  settings: CircuitSettings,
  tenantId?: string,
): CircuitState {
  if (evidence === 'answers') return CLOSED;
  const isOpen = state.openUntil !== undefined;
  // A probe that showed nothing lets the next call be one.
  if (evidence === 'none') return isOpen && admission === 'probe' ? { ...state, openUntil: now } : state;
  const of = state.failures === 0 || state.tenantId === tenantId ? tenantId : undefined;
  if (isOpen && admission === 'regular') return of === state.tenantId ? state : { ...state, tenantId: of };
  const failures = state.failures + 1;
  const opens = isOpen || failures >= settings.failures;
  return { failures, openUntil: opens ? now + settings.openMs : undefined, tenantId: of };
}

const REJECTED = ModelErrors.rejected.definition.code;
const FAILURES = codes(ModelErrors.upstream, ModelErrors.timeout);
const NOTHING_WAS_ASKED = codes(
  ModelErrors.aborted,
  ModelErrors.overloaded,
  ModelErrors.unavailable,
  ModelErrors.keyUnavailable,
);

/**
 * What an error of a call shows about its provider. A refusal (400, 401, 404, 429) is an answer. A caller that left, a
 * full queue of the gateway and mistakes of the gateway show nothing.
 */
export function evidenceOf(error: unknown): Evidence {
  if (!(error instanceof GatewayError)) return 'none';
  if (NOTHING_WAS_ASKED.has(error.code)) return 'none';
  // Without a cause an adapter rejected the request before it was sent.
  if (error.code === REJECTED && error.extras.cause === undefined) return 'none';
  return FAILURES.has(error.code) && error.extras.retryable !== false ? 'fails' : 'answers';
}

function codes(...errors: readonly { readonly definition: { readonly code: string } }[]): Set<string> {
  return new Set(errors.map(({ definition }) => definition.code));
}

/** What circuit breakers work with. */
interface CircuitsParts {
  readonly clock: Clock;
  readonly metrics: Pick<ModelMetrics, 'openCircuits'>;
  /** For the lines about a circuit that opens or closes. */
  readonly log: Pick<Logger, 'warn' | 'info'>;
  readonly settings?: CircuitSettings;
}

/** A call that was let in. Exactly one of its verbs is called, once. */
export interface Passage {
  /** The provider has begun to answer. */
  answered(): void;
  /** The call failed before that, or was left. */
  failed(error: unknown): void;
}

/** The breaker before one model of a provider. */
export interface Circuit {
  /** Lets a call in. Throws `model.circuit-open` while the provider is left alone, or left to other tenants. */
  enter(tenantId?: string): Passage;
}

/** Models come and go with files of agents.d; the least recently used ones are dropped. */
const MOST_MODELS = 1000;

/** A model of a provider: what fails as one. Providers answer with some of their models while others are down. */
export interface CalledModel {
  /** The provider and its host, for logs and metrics. */
  readonly endpoint: string;
  /** The base URL, where there is one: several servers may be behind the paths of one host. */
  readonly url?: string | undefined;
  /** The provider's own name of the model. */
  readonly model: string;
}

/** The breakers of this process, one for each model of each provider. */
export type Circuits = ReturnType<typeof createCircuits>;

/**
 * Breakers that share nothing but their settings. Each process has its own: it learns within a few calls what the
 * others know. There are no timers: the first call after the pause is the probe.
 */
export function createCircuits({ clock, metrics, log, settings: rules = DEFAULT_CIRCUIT }: CircuitsParts) {
  const circuits = recentMap<Circuit>(MOST_MODELS);

  function create({ endpoint, model }: CalledModel): Circuit {
    let state: CircuitState = CLOSED;

    function become(next: CircuitState): void {
      const wasOpen = state.openUntil !== undefined;
      const isOpen = next.openUntil !== undefined;
      state = next;
      if (isOpen === wasOpen) return;
      metrics.openCircuits.set({ endpoint, model }, isOpen ? 1 : 0);
      if (isOpen) log.warn({ endpoint, model }, 'the model provider fails and is left alone for a while');
      else log.info({ endpoint, model }, 'the model provider answers again');
    }

    return {
      enter(tenantId) {
        const entry = admit(state, clock.monotonic(), rules, tenantId);
        if (entry === undefined) {
          const seconds = Math.max(1, Math.ceil((state.openUntil! - clock.monotonic()) / 1000));
          throw ModelErrors.unavailable(undefined, { headers: { 'retry-after': String(seconds) } });
        }
        const { admission } = entry;
        become(entry.state);
        return {
          answered() {
            // The hot case: nothing to learn.
            if (state !== CLOSED) become(learn(state, admission, 'answers', clock.monotonic(), rules));
          },
          failed(error) {
            become(learn(state, admission, evidenceOf(error), clock.monotonic(), rules, tenantId));
          },
        };
      },
    };
  }

  return {
    /** The breaker of a model: the same one for all its aliases. */
    of(called: CalledModel): Circuit {
      const key = JSON.stringify([called.endpoint, called.url, called.model]);
      const circuit = circuits.get(key) ?? create(called);
      circuits.set(key, circuit);
      return circuit;
    },
  };
}
