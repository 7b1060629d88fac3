import type { Clock, Logger } from 'agent-gateway';
import { LRUCache } from 'lru-cache';
import { ModelErrors } from '../../contract.ts';
import {
  admit,
  type CircuitSettings,
  type CircuitState,
  CLOSED,
  DEFAULT_CIRCUIT,
  evidenceOf,
  learn,
} from './circuit.ts';
import type { ModelObserver } from './observed-model.ts';

/** What circuit breakers work with. */
export interface CircuitsParts {
  readonly clock: Clock;
  readonly observer?: Pick<ModelObserver, 'circuit'>;
  /** Told when a circuit opens and when it closes. */
  readonly log?: Pick<Logger, 'warn' | 'info'>;
  readonly settings?: Partial<CircuitSettings>;
}

/** A call that was let in. Exactly one of its verbs is called, once. */
export interface Passage {
  /** The provider has begun to answer. */
  answered(): void;
  /** The call failed before that, or was left. */
  failed(error: unknown): void;
}

/** The breaker before one provider. */
export interface Circuit {
  /** Lets a call in. Throws `model.circuit-open` while the provider is left alone. */
  enter(): Passage;
}

/** The breakers of this process, one for each endpoint. */
export interface Circuits {
  /** The breaker of an endpoint: the same one for all aliases that lead there. */
  of(endpoint: string): Circuit;
}

/** Endpoints come and go with files of agents.d; the longest unused ones are forgotten. */
const MOST_ENDPOINTS = 1000;

/**
 * Breakers that share nothing but their settings. Each process has its own: it learns within a few calls what the others
 * know. There are no timers: the first call after the pause is the probe.
 */
export function createCircuits({ clock, observer, log, settings }: CircuitsParts): Circuits {
  const rules = { ...DEFAULT_CIRCUIT, ...settings };
  const circuits = new LRUCache<string, Circuit>({ max: MOST_ENDPOINTS });

  function create(endpoint: string): Circuit {
    let state: CircuitState = CLOSED;

    function become(next: CircuitState): void {
      const wasOpen = state.openUntil !== undefined;
      const isOpen = next.openUntil !== undefined;
      state = next;
      if (isOpen === wasOpen) return;
      observer?.circuit?.(endpoint, isOpen);
      if (isOpen) log?.warn({ endpoint }, 'the model provider fails and is left alone for a while');
      else log?.info({ endpoint }, 'the model provider answers again');
    }

    return {
      enter() {
        const entry = admit(state, clock.monotonic(), rules);
        if (entry === undefined) throw refuse(state, clock.monotonic());
        const { admission } = entry;
        become(entry.state);
        return {
          answered() {
            // The hot case: nothing to learn.
            if (state !== CLOSED) become(learn(state, admission, 'answers', clock.monotonic(), rules));
          },
          failed(error) {
            become(learn(state, admission, evidenceOf(error), clock.monotonic(), rules));
          },
        };
      },
    };
  }

  return {
    of(endpoint) {
      const known = circuits.get(endpoint);
      if (known !== undefined) return known;
      const circuit = create(endpoint);
      circuits.set(endpoint, circuit);
      return circuit;
    },
  };
}

function refuse({ openUntil }: CircuitState, now: number) {
  const seconds = Math.max(1, Math.ceil(((openUntil ?? now) - now) / 1000));
  return ModelErrors.unavailable(undefined, { headers: { 'retry-after': String(seconds) } });
}
