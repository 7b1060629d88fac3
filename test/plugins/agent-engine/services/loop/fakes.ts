import type { ResourceView } from 'agent-gateway';
import pino from 'pino';
import { withoutSpans } from '../../../../../foundation/observability/tracing.ts';
import type {
  AgentEvent,
  AgentResult,
  ChatChunk,
  ChatDelta,
  ChatRequest,
  Experience,
  Guard,
  GuardedChat,
  ModelInfo,
  Models,
  RunContext,
  StreamRedactor,
  Tool,
  ToolResult,
  Usage,
} from '../../../../../plugins/agent-engine/contract.ts';
import { NO_GUARDS } from '../../../../../plugins/agent-engine/services/guard/chat/chat-guards.ts';
import { inspectInput } from '../../../../../plugins/agent-engine/services/guard/create-guard.ts';
import { createAgentCatalog } from '../../../../../plugins/agent-engine/services/loop/agent-catalog.ts';
import type { AgentDefinition } from '../../../../../plugins/agent-engine/services/loop/agent-resource.ts';
import { createAgents } from '../../../../../plugins/agent-engine/services/loop/create-agents.ts';
import {
  createExperience,
  NO_EXPERIENCE,
} from '../../../../../plugins/agent-engine/services/loop/experience.ts';
import { createArgumentCheck } from '../../../../../plugins/agent-engine/services/tools/argument-check.ts';
import { createToolCatalog } from '../../../../../plugins/agent-engine/services/tools/tool-catalog.ts';
import type { NewReceipt, Receipt, Receipts } from '../../../../../plugins/records/contract.ts';
import { fakeIds } from '../../../../../testing/fakes/fake-ids.ts';
import { manualClock } from '../../../../../testing/manual-clock.ts';

const log = pino({ enabled: false });

/**
 * What a scripted model says next: pieces of a stream, `hang` until the call is aborted, or an error that it throws.
 */
export type Piece = ChatDelta | { finish: string } | { usage: Usage } | 'hang' | Error;

/** An answer of text, in pieces. */
export function says(...texts: string[]): Piece[] {
  return [...texts.map((content) => ({ content })), { finish: 'stop' }];
}

/** An answer of calls; arguments may be text that is no JSON. */
export function calls(...wanted: [name: string, given?: unknown, id?: string][]): Piece[] {
  return [
    ...wanted.map(([name, given = {}, id = `id-${name}`], index) => ({
      tool_calls: [
        {
          index,
          id,
          type: 'function' as const,
          function: { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
        },
      ],
    })),
    { finish: 'tool_calls' },
  ];
}

/** A script: the n-th answer, or what to answer a request with. */
export type Script = readonly Piece[][] | ((request: ChatRequest, n: number) => readonly Piece[]);

/** Models that play scripts, by alias. */
export function scriptedModels(scripts: Record<string, Script>, info: Partial<ModelInfo> = {}) {
  const requests: ChatRequest[] = [];
  const counts = new Map<string, number>();
  const state = { open: 0, requests };
  async function* stream(alias: string, script: Script, request: ChatRequest, signal: AbortSignal) {
    requests.push(request);
    const n = counts.get(alias) ?? 0;
    counts.set(alias, n + 1);
    const pieces = typeof script === 'function' ? script(request, n) : script[n];
    if (pieces === undefined) throw new Error(`the script of ${alias} is over`);
    state.open += 1;
    try {
      for (const piece of pieces) {
        signal.throwIfAborted();
        if (piece === 'hang')
          await new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
          );
        else if (piece instanceof Error) throw piece;
        else yield chunkOf(piece);
      }
    } finally {
      state.open -= 1;
    }
  }
  const models: Models = {
    list: () => [],
    resolve(alias) {
      const script = scripts[alias];
      if (script === undefined) throw new Error(`no script for ${alias}`);
      const told: ModelInfo = {
        id: alias,
        provider: 'fake',
        model: `${alias}-1`,
        owned_by: 'tests',
        created: 0,
        ...info,
      };
      return {
        info: told,
        complete: () => Promise.reject(new Error('not streamed')),
        stream: (request, { signal }) => stream(alias, script, request, signal),
      };
    },
  };
  return { ...state, models, state };
}

function chunkOf(piece: Exclude<Piece, string | Error>): ChatChunk {
  const common = { id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm' } as const;
  if ('usage' in piece) return { ...common, choices: [], usage: piece.usage as Usage };
  if ('finish' in piece)
    return { ...common, choices: [{ index: 0, delta: {}, finish_reason: String(piece.finish) }] };
  return { ...common, choices: [{ index: 0, delta: piece as ChatDelta }] };
}

/** A guard with rules that tests can see: `SECRET` is redacted, `FORBIDDEN` may not come in, `LEAK` may not go out. */
export const guard: Guard = {
  checkInput: (text) => (text.includes('FORBIDDEN') ? { rule: 'forbidden-word', reason: '' } : undefined),
  inspect: (messages) => inspectInput(guard.checkInput, messages),
  checkOutput(secret) {
    let seen = '';
    const finding = () =>
      seen.includes('LEAK') || (secret !== undefined && seen.includes(secret))
        ? { rule: 'leak', reason: '' }
        : undefined;
    return {
      push(text) {
        seen += text;
        return finding();
      },
      end: finding,
    };
  },
  redact: (text) => text.replaceAll('SECRET', '[REDACTED:test]'),
  redactJsonText: (text) => guard.redact(text),
  redactStream(): StreamRedactor {
    let held = '';
    return {
      push(text) {
        const all = guard.redact(held + text);
        const most = Math.min(5, all.length);
        let keep = 0;
        for (let size = 1; size <= most; size += 1)
          if ('SECRET'.startsWith(all.slice(all.length - size))) keep = size;
        held = all.slice(all.length - keep);
        return all.slice(0, all.length - keep);
      },
      end() {
        const rest = held;
        held = '';
        return rest;
      },
    };
  },
};

/** Receipts in memory. */
export function memoryReceipts() {
  const kept: Receipt[] = [];
  const state = { kept, failure: undefined as Error | undefined };
  const receipts: Receipts = {
    async submit({ tenantId }, receipt: NewReceipt) {
      if (state.failure !== undefined) throw state.failure;
      const earlier = kept.find(
        (one) =>
          one.tenantId === tenantId &&
          one.idempotencyId !== null &&
          one.idempotencyId === receipt.idempotencyId,
      );
      if (earlier !== undefined) return earlier;
      const written = { ...receipt, id: `receipt-${kept.length + 1}`, tenantId, createdAt: new Date(0) };
      kept.push(written);
      return written;
    },
    findByIdempotencyId: async ({ tenantId }, id) =>
      kept.find((one) => one.tenantId === tenantId && one.idempotencyId === id),
    list: () => Promise.reject(new Error('not asked')),
    get: () => Promise.reject(new Error('not asked')),
  };
  return { receipts, state, kept };
}

/** A tool; `run` gets the arguments. */
export function tool(
  name: string,
  run: (input: Readonly<Record<string, unknown>>, signal: AbortSignal) => ToolResult | Promise<ToolResult>,
  extra: Partial<Tool> = {},
): Tool {
  return {
    ref: `builtin/${name}`,
    name,
    description: `The tool ${name}`,
    parameters: { type: 'object' },
    invoke: async (input, { signal }) => run(input, signal),
    ...extra,
  };
}

/** An agent definition with the tools of the refs; `!` in front of a ref asks for approval. */
export function agent(
  name: string,
  parts: Partial<AgentDefinition> = {},
  refs: string[] = [],
): AgentDefinition {
  return {
    name,
    description: `About ${name}`,
    type: 'chat_model_agent',
    subAgents: [],
    tools: refs.map((ref) => ({
      ref: `builtin/${ref.replace('!', '')}`,
      requiresApproval: ref.startsWith('!'),
    })),
    ...parts,
  };
}

/** A supervisor over agents. */
export function supervisor(
  name: string,
  over: readonly AgentDefinition[],
  parts: Partial<AgentDefinition> = {},
  refs: string[] = [],
): AgentDefinition {
  const subAgents = over.map((one) => ({ role: one.description, agent: one }));
  return agent(name, { type: 'supervisor', subAgents, ...parts }, refs);
}

/** Live agents of agents.d, which a test may change. */
export function liveAgents(...definitions: AgentDefinition[]) {
  const live = new Map(definitions.map((one) => [one.name, one]));
  const state = { held: 0 };
  const view: ResourceView<AgentDefinition> = {
    get: (name) => live.get(name),
    acquire(name) {
      const value = live.get(name);
      if (value === undefined) return undefined;
      state.held += 1;
      const release = () => {
        state.held -= 1;
      };
      return { value, generation: 1, release, [Symbol.dispose]: release };
    },
    list: () => [...live.values()].map((value) => ({ name: value.name, value }) as never),
    onChange: () => () => {},
  };
  return { live, view, state };
}

/** A catalog of these files alone. */
export function catalogOf(files: ResourceView<AgentDefinition>) {
  const none = () => {
    throw new Error('no agent of a tenant is read here');
  };
  return createAgentCatalog({
    files,
    sources: () => [],
    resources: { read: none },
    toolCatalog: { unknown: none },
    models: { list: none, resolve: none },
  });
}

/** No plugin guards chats. */
export const openGuards = () => NO_GUARDS;

/** Nobody learns. */
export const openExperience = () => NO_EXPERIENCE;

/** What a test of the loop is made of. */
export interface LoopFixture {
  readonly script?: Script;
  readonly scripts?: Record<string, Script>;
  readonly info?: Partial<ModelInfo>;
  readonly tools?: readonly Tool[];
  readonly agents?: readonly AgentDefinition[];
  readonly learners?: readonly Experience[];
}

/** Agents over fakes. */
export function loop({ script = [], scripts, info, tools = [], agents = [], learners = [] }: LoopFixture) {
  const models = scriptedModels(scripts ?? { default: script }, info);
  const memory = memoryReceipts();
  const resources = liveAgents(...agents);
  const clock = manualClock();
  const offered = { tools };
  /** The chats that plugins were asked to guard. */
  const guarded: GuardedChat[] = [];
  const made = createAgents({
    models: models.models,
    toolCatalog: createToolCatalog({
      sources: () => [{ prefix: 'builtin/', list: () => offered.tools }],
      policies: { of: () => ({ allowedTools: null }) as never },
      log,
      clock,
    }),
    receipts: memory.receipts,
    openExperience: createExperience({ learners: () => learners, guard, clock, log }),
    guard,
    openGuards(chat) {
      guarded.push(chat);
      return NO_GUARDS;
    },
    tracing: withoutSpans,
    clock,
    ids: fakeIds(),
    checkArguments: createArgumentCheck(),
    database: { forTenant: (tenantId: string) => ({ tenantId }) as never },
    agents: catalogOf(resources.view),
  });
  return { agents: made, models, receipts: memory, resources, offered, guarded, clock };
}

/** For whom a test runs an agent. */
export function context(parts: Partial<RunContext> = {}): RunContext {
  return {
    principal: { tenantId: 't1', identityId: 'key-1', userId: 'anna' },
    sessionId: 's1',
    requestId: 'r1',
    signal: new AbortController().signal,
    log,
    ...parts,
  };
}

/** What a user says. */
export const user = (content: string) => ({ role: 'user', content }) as const;

/** All events of a run, and its result. */
export async function collect(events: AsyncIterable<AgentEvent>) {
  const all: AgentEvent[] = [];
  for await (const event of events) all.push(event);
  const last = all.at(-1);
  if (last?.type !== 'end') throw new Error('the last event is not the end');
  return { events: all, result: last.result as AgentResult };
}

/** The text that was streamed. */
export function streamed(events: readonly AgentEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.delta : '')).join('');
}
