import test from 'ava';
import { type ChatCall, ModelErrors } from '../../../../plugins/agent-engine/contract.ts';
import { createModelTests } from '../../../../plugins/runtime/services/model-tests.ts';
import { manualClock } from '../../../../testing/index.ts';

test('a model that hangs is told from a caller who leaves', async (t) => {
  const { timeout } = AbortSignal;
  const run = async (end: (late: AbortController, left: AbortController) => void) => {
    const [late, left] = [new AbortController(), new AbortController()];
    const model = {
      info: {},
      complete: (_: object, { signal }: { readonly signal: AbortSignal }) => {
        AbortSignal.timeout = timeout;
        const { promise, reject } = Promise.withResolvers();
        signal.addEventListener('abort', () => reject(ModelErrors.aborted()), { once: true });
        end(late, left);
        return promise;
      },
    };
    const parts = {
      models: { resolve: () => model },
      guard: { inspect: async () => {} },
      clock: manualClock(),
    };
    const tests = createModelTests(parts as unknown as Parameters<typeof createModelTests>[0]);
    const call = { signal: left.signal, requestId: 'r', traceHeaders: {}, principal: { tenantId: 't' } };
    AbortSignal.timeout = () => late.signal;
    return tests.run(call as unknown as ChatCall, 'default', '');
  };
  t.like(await run((late) => late.abort()), { success: false, error: 'The test took longer than 60 s.' });
  await t.throwsAsync(
    run((_, left) => left.abort()),
    { code: 'model.aborted' },
  );
});
