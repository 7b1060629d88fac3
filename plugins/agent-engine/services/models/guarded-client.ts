import { type ModelCallContext, type ModelClient, ModelErrors } from '../../contract.ts';
import type { Circuit, Passage } from './circuit.ts';
import { watchStart } from './watch-start.ts';

/** The same client behind a circuit breaker. Of a stream only the beginning decides: an answer that breaks was one. */
export function guardClient(client: ModelClient, circuit: Circuit): ModelClient {
  function enter({ signal }: ModelCallContext): Passage {
    // A caller who has left is told so, and is no probe.
    if (signal.aborted) throw ModelErrors.aborted();
    return circuit.enter();
  }

  return {
    async complete(request, context) {
      const passage = enter(context);
      try {
        const completion = await client.complete(request, context);
        passage.answered();
        return completion;
      } catch (error) {
        passage.failed(error);
        throw error;
      }
    },
    stream(request, context) {
      let passage: Passage | undefined;
      return watchStart(client.stream(request, context), {
        before: () => {
          passage = enter(context);
        },
        begun: () => passage?.answered(),
        failed: (error) => passage?.failed(error),
      });
    },
  };
}
