import { type Clock, type Database, GatewayError } from 'agent-gateway';
import {
  type ChatCall,
  type Guard,
  GuardErrors,
  ModelErrors,
  type Models,
  textOf,
} from '../../agent-engine/contract.ts';
import { beginSpan, type Metering } from '../../records/contract.ts';

/** Milliseconds that a test may take. */
const MAX_DURATION = 60_000;
/** The prompt where the caller sends none. */
const QUESTION = 'Answer with the word: ok';

/** The result of a test, as clients see it (decisions 3.4). */
export interface ModelTestResult {
  readonly success: boolean;
  readonly response: string;
  readonly latency_ms: number;
  readonly error: string;
}

/** Tests of models. */
export type ModelTests = ReturnType<typeof createModelTests>;

/** Makes the service. */
export function createModelTests(parts: {
  readonly models: Pick<Models, 'resolve'>;
  readonly guard: Guard;
  readonly metering: Metering;
  readonly database: Pick<Database, 'forTenant'>;
  readonly clock: Clock;
}) {
  const { models, guard, metering, database, clock } = parts;

  async function ask(call: ChatCall, alias: string, prompt: string): Promise<string> {
    const { requestId, traceHeaders, principal, signal } = call;
    const messages = [{ role: 'user', content: prompt }] as const;
    await guard.inspect(messages, call);
    const model = models.resolve(alias);
    let answeredBy = model.info;
    const endSpan = beginSpan(call, clock);
    const completion = await model.complete(
      { model: alias, messages },
      {
        signal,
        tenantId: principal.tenantId,
        requestId,
        traceHeaders,
        answeredBy: (info) => {
          answeredBy = info;
        },
      },
    );
    const answer = completion.choices[0]!.message;
    const usage = completion.usage ?? undefined;
    const span = endSpan();
    const { use } = metering.measure({ alias, answeredBy, usage, request: { messages }, answer, span });
    const owner = { principal, source: 'runtime' } as const;
    await metering.record(database.forTenant(principal.tenantId), owner, await metering.price([use]));
    const text = textOf(answer);
    const check = guard.checkOutput(undefined, call);
    const finding = check.push(text) ?? check.end();
    if (finding !== undefined)
      throw GuardErrors.outputBlocked(`The rule "${finding.rule}" refused the answer`);
    return guard.redact(text);
  }

  return {
    /**
     * Calls the model; the usage counts for the caller. Throws `model_not_found`, `guard.input-blocked`, and what ended
     * the call.
     */
    async run(call: ChatCall, alias: string, prompt: string): Promise<ModelTestResult> {
      const start = clock.monotonic();
      const took = () => Math.max(0, Math.round(clock.monotonic() - start));
      const limit = AbortSignal.timeout(MAX_DURATION);
      try {
        const limited = { ...call, signal: AbortSignal.any([call.signal, limit]) };
        const response = await ask(limited, alias, prompt || QUESTION);
        return { success: true, response, latency_ms: took(), error: '' };
      } catch (thrown) {
        const isLate = limit.aborted && ModelErrors.aborted.is(thrown);
        const error = isLate
          ? ModelErrors.timeout(`The test took longer than ${MAX_DURATION / 1000} s.`)
          : thrown;
        if (call.signal.aborted || !isOfTheModel(error)) throw error;
        return { success: false, response: '', latency_ms: took(), error: error.detail };
      }
    },
  };
}

const { notFound, ...FAILURES } = ModelErrors;
const CODES: ReadonlySet<string> = new Set(
  [...Object.values(FAILURES), GuardErrors.outputBlocked].map(({ definition }) => definition.code),
);

/** Whether an error is a failure of the model, which is a result of the test. */
function isOfTheModel(error: unknown): error is GatewayError {
  return error instanceof GatewayError && CODES.has(error.code);
}
