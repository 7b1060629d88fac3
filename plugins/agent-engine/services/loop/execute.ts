import {
  type Clock,
  GatewayError,
  type Logger,
  orAborted,
  redactJsonTextWith,
  startLifetime,
} from 'agent-gateway';
import {
  MAX_RECEIPT_TEXT,
  type NewReceipt,
  type Receipt,
  type ReceiptStatus,
  traceIdOf,
} from '../../../records/contract.ts';
import type { Question, Tool, ToolContext } from '../../contract.ts';
import { cut, type Frame, MAX_RESULT, type Outcome, type StepCall, type Turn } from './frame.ts';
import type { LoopParts } from './loop-parts.ts';

/** The outcome of a call, or the question that a person has to answer first. */
type Execution = { readonly outcome: Outcome } | { readonly question: Question };

/** What tools run with. */
export type ExecutionParts = Pick<LoopParts, 'receipts' | 'database' | 'tracing' | 'clock' | 'guard'>;

/**
 * Runs a tool for a call and writes its receipt, in this order, before the model or the caller sees the result. Where
 * work is done again (`idempotencyId`), a call that has a receipt is not run: the recorded result counts. Throws what
 * the receipts throw, and the reason of the turn's signal; a call that the signal cut off leaves a receipt that does
 * not keep it from being run again.
 */
export async function execute(
  parts: ExecutionParts,
  turn: Pick<Turn, 'context' | 'pauses' | 'guards'>,
  frame: Pick<Frame, 'path'>,
  { call, position }: StepCall,
  tool: Tool,
  input: Readonly<Record<string, unknown>>,
): Promise<Execution> {
  const { receipts, database, tracing, clock, guard } = parts;
  const { context } = turn;
  const entities = database.forTenant(context.principal.tenantId);
  const idempotencyId = idempotencyIdOf(turn, position);
  const written = kept(guard, JSON.stringify(input));
  const wanted = { toolName: tool.name, input: written };
  const earlier = await earlierOutcome(parts, turn, position, wanted);
  if (earlier !== undefined) return { outcome: earlier };
  context.signal.throwIfAborted();
  const startedAt = new Date(clock.now());
  const span = tracing.startSpan(`execute_tool ${tool.name}`, context.traceHeaders, {
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool.name },
  });
  const within = { ...context, traceHeaders: span.headers(), callId: call.id, agentPath: frame.path };
  const tried = await attempt(tool, input, within, clock);
  span.end(tried.question === undefined && tried.status !== 'success' ? tried.status : undefined);
  if (tried.question !== undefined && turn.pauses === 'allow') return { question: tried.question };
  const { content, status, durationMs, isAborted } = tried;
  const receipt = {
    ...receiptOf(turn, tool.name, written),
    output: kept(guard, content),
    status,
    startedAt,
    durationMs,
  };
  if (isAborted) {
    try {
      await receipts.submit(entities, { ...receipt, idempotencyId: null });
    } catch (error) {
      context.log.error({ err: error, tool: tool.name }, 'the receipt of a cancelled call was not written');
    }
    context.signal.throwIfAborted();
  }
  const recorded = await receipts.submit(entities, { ...receipt, idempotencyId });
  return { outcome: await outcomeOf(parts, turn, recorded, wanted) };
}

/**
 * What the call at this place came to before an interruption, where work is done again; undefined where it was not
 * made.
 *
 * @param wanted the call that is to be made now; absent where none is
 */
export async function earlierOutcome(
  parts: ExecutionParts,
  turn: Pick<Turn, 'context' | 'guards'>,
  position: string,
  wanted?: WantedCall,
): Promise<Outcome | undefined> {
  const idempotencyId = idempotencyIdOf(turn, position);
  if (idempotencyId === null) return undefined;
  const entities = parts.database.forTenant(turn.context.principal.tenantId);
  const earlier = await parts.receipts.findByIdempotencyId(entities, idempotencyId);
  return earlier && outcomeOf(parts, turn, earlier, wanted);
}

/**
 * Records a person's answers as the result of the call that asked. Those of an earlier attempt to go on, which broke,
 * do not count any more where they were others.
 */
export async function recordAnswers(
  parts: ExecutionParts,
  turn: Turn,
  { call, position }: StepCall,
  { answers, askedAt }: { readonly answers: Readonly<Record<string, unknown>>; readonly askedAt: number },
): Promise<Outcome> {
  const { receipts, database, guard, clock } = parts;
  const { name, arguments: given } = call.function;
  const entities = database.forTenant(turn.context.principal.tenantId);
  const asked = { toolName: name, input: kept(guard, given) };
  const receipt = {
    ...receiptOf(turn, name, asked.input),
    output: kept(guard, JSON.stringify(answers)),
    status: 'success',
    startedAt: new Date(askedAt),
    durationMs: Math.min(MOST_MS, Math.max(0, clock.now() - askedAt)),
  } as const;
  const idempotencyId = idempotencyIdOf(turn, position);
  let recorded = await receipts.submit(entities, { ...receipt, idempotencyId });
  if (recorded.output !== receipt.output)
    recorded = await receipts.submit(entities, { ...receipt, idempotencyId: null });
  return outcomeOf(parts, turn, recorded, asked);
}

function receiptOf({ context }: Pick<Turn, 'context'>, toolName: string, input: string) {
  const { sessionId = '', principal, requestId, traceHeaders } = context;
  const traceId = traceIdOf(traceHeaders);
  return {
    sessionId,
    userId: principal.userId,
    toolName,
    input,
    requestId,
    traceId,
  } satisfies Partial<NewReceipt>;
}

function idempotencyIdOf({ context }: Pick<Turn, 'context'>, position: string): string | null {
  return context.idempotencyId === undefined ? null : `${context.idempotencyId}:${position}`;
}

/**
 * What a receipt keeps of a text, JSON or not: redacted, then cut. Tools may return texts of any length, so no more is
 * redacted than is needed for the kept part to be whole.
 */
function kept({ redact }: LoopParts['guard'], text: string): string {
  const bounded = text.slice(0, 2 * MAX_RECEIPT_TEXT).toWellFormed();
  return cut(redactJsonTextWith(redact, bounded), MAX_RECEIPT_TEXT);
}

/** A call, as receipts hold it. */
type WantedCall = Pick<Receipt, 'toolName' | 'input'>;

/**
 * The outcome that the model reads: what the receipt says. Where work is done again and now something else is to happen
 * at this place, the model learns what was done.
 */
async function outcomeOf(
  { guard }: ExecutionParts,
  { guards, context }: Pick<Turn, 'guards' | 'context'>,
  { toolName, input, output, status }: Receipt,
  wanted: WantedCall | undefined,
): Promise<Outcome> {
  const isSame = toolName === wanted?.toolName && input === wanted.input;
  const content = isSame
    ? output
    : `Already done before an interruption: ${toolName} ${input}. Its result: ${output}`;
  const shown = cut(content, MAX_RESULT);
  const finding = await guard.checkInput(shown, 'tool', context);
  if (finding !== undefined)
    return {
      content: `Error: The result is withheld: the rule "${finding.rule}" of the guardrails refused it.`,
      isError: true,
    };
  try {
    return { content: cut(await guards.toolResult(shown), MAX_RESULT), isError: status !== 'success' };
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof GatewayError)) throw error;
    return { content: cut(`Error: The result is withheld: ${error.detail}`, MAX_RESULT), isError: true };
  }
}

/** How an execution of a tool ended. */
interface Attempt {
  /** For the model; of a question, that no person can be asked. */
  readonly content: string;
  readonly status: ReceiptStatus;
  readonly durationMs: number;
  readonly question?: Question;
  /** The turn was cancelled; whether the tool had an effect is not known. */
  readonly isAborted?: boolean;
}

/** Milliseconds for one call of a tool that sets no `timeoutMs`. */
const TOOL_TIMEOUT = 60_000;

/**
 * Runs a tool once, within its deadline. Never rejects: what the tool throws is its result, in words that the model may
 * read. A tool that ignores its signal is not waited for.
 */
async function attempt(
  tool: Tool,
  input: Readonly<Record<string, unknown>>,
  context: ToolContext,
  clock: Clock,
): Promise<Attempt> {
  const start = clock.monotonic();
  const timeoutMs = Math.min(tool.timeoutMs ?? TOOL_TIMEOUT, MOST_MS);
  const overdue = new Error(`The tool did not finish within ${timeoutMs / 1000} s.`);
  using life = startLifetime(context.signal, timeoutMs, () => overdue);
  const { signal } = life;
  const result = (content: string, status: ReceiptStatus): Attempt => {
    const durationMs = Math.min(MOST_MS, Math.max(0, Math.round(clock.monotonic() - start)));
    return { content, status, durationMs };
  };

  async function invoke(): Promise<Attempt> {
    try {
      const answer = await tool.invoke(input, { ...context, signal });
      if ('question' in answer)
        return { content: NOBODY_TO_ASK, status: 'error', durationMs: 0, question: answer.question };
      const status = answer.isTimeout === true ? 'timeout' : answer.isError === true ? 'error' : 'success';
      return result(String(answer.content), status);
    } catch (error) {
      return result(`Error: ${wordsOf(error, context.log, tool.name)}`, 'error');
    }
  }
  try {
    // A call that is cancelled before it began runs nothing.
    signal.throwIfAborted();
    return await orAborted(invoke(), signal);
  } catch {
    if (signal.reason === overdue) return result(`Error: ${overdue.message}`, 'timeout');
    return { ...result('The call was cancelled.', 'error'), isAborted: true };
  }
}

const NOBODY_TO_ASK =
  'Error: No person can be asked here. Go on without an answer, or say what you need to know.';
/** Receipts hold 32-bit integers, and a timer takes more for a millisecond. */
const MOST_MS = 2 ** 31 - 1;

function wordsOf(error: unknown, log: Logger, tool: string): string {
  if (error instanceof GatewayError) return error.detail;
  log.warn({ err: error, tool }, 'a tool failed');
  return 'The tool failed.';
}
