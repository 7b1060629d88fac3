import { type Clock, GatewayError } from 'agent-gateway';
import type {
  ChatChunk,
  ChatCompletion,
  ChatRequest,
  ModelCallContext,
  ModelClient,
  Usage,
} from '../../contract.ts';

/** How a call ended: `ok`, `aborted`, or the last part of the error's code (`timeout`, `rate-limited`, `upstream`, …). */
export type ModelOutcome = string;

/** Where measurements go. `model` is a label of bounded variety. Must not throw. */
export interface ModelObserver {
  /** A call has ended, after `seconds` in all. */
  request(model: string, outcome: ModelOutcome, seconds: number): void;
  /** What a call consumed; not called where the provider did not say. */
  tokens(model: string, usage: Usage): void;
  /** The first chunk of a stream came after `seconds`. */
  firstByte(model: string, seconds: number): void;
  /** `model` failed before it answered, and `fallback` is asked instead. */
  fallback?(model: string, fallback: string): void;
  /** The circuit breaker before an endpoint (`openai api.example.com`) has opened or closed. */
  circuit?(endpoint: string, isOpen: boolean): void;
}

/** The same model, with every call measured. A stream that its consumer leaves early counts as `aborted`. */
export function observeModel(
  client: ModelClient,
  label: string,
  observer: ModelObserver,
  clock: Clock,
): ModelClient {
  async function complete(request: ChatRequest, context: ModelCallContext): Promise<ChatCompletion> {
    const start = clock.monotonic();
    let outcome = 'ok';
    try {
      const completion = await client.complete(request, context);
      if (completion.usage) observer.tokens(label, completion.usage);
      return completion;
    } catch (error) {
      outcome = outcomeOf(error);
      throw error;
    } finally {
      observer.request(label, outcome, (clock.monotonic() - start) / 1000);
    }
  }

  async function* stream(request: ChatRequest, context: ModelCallContext): AsyncGenerator<ChatChunk, void> {
    const start = clock.monotonic();
    let outcome = 'aborted';
    let isFirst = true;
    let usage: Usage | undefined;
    try {
      for await (const chunk of client.stream(request, context)) {
        if (isFirst) observer.firstByte(label, (clock.monotonic() - start) / 1000);
        isFirst = false;
        // Some servers report the running total with every chunk: only the last one counts.
        if (chunk.usage) usage = chunk.usage;
        yield chunk;
      }
      outcome = 'ok';
    } catch (error) {
      outcome = outcomeOf(error);
      throw error;
    } finally {
      if (usage !== undefined) observer.tokens(label, usage);
      observer.request(label, outcome, (clock.monotonic() - start) / 1000);
    }
  }

  return { complete, stream };
}

function outcomeOf(error: unknown): ModelOutcome {
  return error instanceof GatewayError ? error.code.replace(/^model\./, '') : 'internal';
}
