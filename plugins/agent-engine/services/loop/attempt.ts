import { type Clock, GatewayError, type Logger } from 'agent-gateway';
import type { ReceiptStatus } from '../../../records/contract.ts';
import type { Question, Tool, ToolContext } from '../../contract.ts';

/** How an execution of a tool ended. */
export type Attempt =
  | {
      readonly is: 'result';
      readonly content: string;
      readonly status: ReceiptStatus;
      readonly durationMs: number;
    }
  | { readonly is: 'question'; readonly question: Question }
  /** The turn was cancelled; whether the tool had an effect is not known. */
  | { readonly is: 'aborted'; readonly durationMs: number };

/** Milliseconds for one call of a tool that says nothing else. */
const TOOL_TIMEOUT = 60_000;

/**
 * Runs a tool once, within its deadline. Never rejects: what the tool throws is its result, in words that the model may read. A tool that ignores
 * its signal is not waited for.
 */
export async function attempt(
  tool: Tool,
  input: Readonly<Record<string, unknown>>,
  context: ToolContext,
  clock: Clock,
): Promise<Attempt> {
  const start = clock.monotonic();
  const timeoutMs = tool.timeoutMs ?? TOOL_TIMEOUT;
  const end = new AbortController();
  const duration = () => Math.min(MOST_MS, Math.max(0, Math.round(clock.monotonic() - start)));
  const result = (content: string, status: ReceiptStatus): Attempt => ({
    ...{ is: 'result', content, status, durationMs: duration() },
  });

  const { promise: cut, resolve } = Promise.withResolvers<Attempt>();
  const timer = setTimeout(() => {
    const message = `The tool did not finish within ${timeoutMs / 1000} s.`;
    end.abort(new Error(message));
    resolve(result(`Error: ${message}`, 'timeout'));
  }, timeoutMs);
  const onAbort = () => {
    end.abort(context.signal.reason);
    resolve({ is: 'aborted', durationMs: duration() });
  };
  if (context.signal.aborted) onAbort();
  else context.signal.addEventListener('abort', onAbort, { once: true });

  async function invoke(): Promise<Attempt> {
    try {
      const told = await tool.invoke(input, { ...context, signal: end.signal });
      if ('question' in told) return { is: 'question', question: told.question };
      const status = told.isTimeout === true ? 'timeout' : told.isError === true ? 'error' : 'success';
      return result(String(told.content), status);
    } catch (error) {
      return result(`Error: ${wordsOf(error, context.log, tool.name)}`, 'error');
    }
  }
  try {
    // First in the race: a call that is cancelled before it began runs nothing.
    return await Promise.race([cut, ...(end.signal.aborted ? [] : [invoke()])]);
  } finally {
    clearTimeout(timer);
    context.signal.removeEventListener('abort', onAbort);
  }
}

/** Receipts hold 32-bit integers. */
const MOST_MS = 2 ** 31 - 1;

function wordsOf(error: unknown, log: Logger, tool: string): string {
  if (error instanceof GatewayError) return error.detail;
  log.warn({ err: error, tool }, 'a tool failed');
  return 'The tool failed.';
}
