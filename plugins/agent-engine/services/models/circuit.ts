import { GatewayError } from 'agent-gateway';
import { ModelErrors } from '../../contract.ts';

/** When calls to a provider that fails are not made at all. */
export interface CircuitSettings {
  /** Failed calls in a row, their retries used up, after which the circuit opens. Default 5. */
  readonly failures: number;
  /** Milliseconds that it stays open before one call may probe the provider. Default 10,000. */
  readonly openMs: number;
}

/** What applies everywhere. */
export const DEFAULT_CIRCUIT: CircuitSettings = { failures: 5, openMs: 10_000 };

/** Failures in a row so far, and where those were too many the time (monotonic milliseconds) of the next probe. */
export interface CircuitState {
  readonly failures: number;
  readonly openUntil: number | undefined;
}

/** A circuit that lets everything pass. */
export const CLOSED: CircuitState = { failures: 0, openUntil: undefined };

/** How a call was let in: like any other, or alone, to find out whether the provider is back. */
export type Admission = 'regular' | 'probe';

/** What a call told about its provider: it answers, it fails, or nothing. */
export type Evidence = 'answers' | 'fails' | 'none';

/**
 * Lets a call in, or not (undefined). A probe moves the time of the next one on, so that there is one in each `openMs`, and
 * one that hangs keeps nobody out for longer.
 */
export function admit(
  state: CircuitState,
  now: number,
  { openMs }: CircuitSettings,
): { readonly state: CircuitState; readonly admission: Admission } | undefined {
  if (state.openUntil === undefined) return { state, admission: 'regular' };
  if (now < state.openUntil) return undefined;
  return { state: { ...state, openUntil: now + openMs }, admission: 'probe' };
}

/**
 * The state after a call. Any answer closes the circuit. While it is open only a probe's failure counts: calls that had begun
 * before it opened would keep it open for as long as their deadlines are.
 */
export function learn(
  state: CircuitState,
  admission: Admission,
  evidence: Evidence,
  now: number,
  settings: CircuitSettings,
): CircuitState {
  if (evidence === 'answers') return CLOSED;
  if (state.openUntil !== undefined) {
    if (admission === 'regular') return state;
    // A probe that told nothing makes room for the next call to be one.
    return { ...state, openUntil: evidence === 'fails' ? now + settings.openMs : now };
  }
  if (evidence === 'none') return state;
  const failures = state.failures + 1;
  return { failures, openUntil: failures >= settings.failures ? now + settings.openMs : undefined };
}

const REJECTED = ModelErrors.rejected.definition.code;
const FAILURES = codes(ModelErrors.upstream, ModelErrors.timeout);
const NOTHING_WAS_ASKED = codes(ModelErrors.aborted, ModelErrors.overloaded, ModelErrors.unavailable);

/**
 * What an error of a call tells. A provider that refuses (400, 401, 404, 429) answers. A caller who left, a full queue of our
 * own and mistakes of ours tell nothing.
 */
export function evidenceOf(error: unknown): Evidence {
  if (!(error instanceof GatewayError)) return 'none';
  if (NOTHING_WAS_ASKED.has(error.code)) return 'none';
  // Without a cause it is an adapter that rejected the request, before anybody was asked.
  if (error.code === REJECTED && error.extras.cause === undefined) return 'none';
  return FAILURES.has(error.code) && error.extras.retryable !== false ? 'fails' : 'answers';
}

function codes(...errors: readonly { readonly definition: { readonly code: string } }[]): Set<string> {
  return new Set(errors.map(({ definition }) => definition.code));
}
