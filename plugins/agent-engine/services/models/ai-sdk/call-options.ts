import type {
  JSONObject,
  LanguageModelV4CallOptions,
  LanguageModelV4ToolChoice,
  SharedV4ProviderOptions,
  SharedV4Warning,
} from '@ai-sdk/provider';
import type { FieldError } from 'agent-gateway';
import { type ChatRequest, ModelErrors, type ResponseFormat, type ToolChoice } from '../../../contract.ts';
import { reasoningDetailsOf } from './completion.ts';
import { type SupportedUrls, toPrompt } from './prompt.ts';

/** Members of a request that have a meaning here, or that are the gateway's own business. */
const KNOWN = new Set(
  (
    'model messages temperature top_p top_k max_tokens max_completion_tokens stop n tools tool_choice parallel_tool_calls ' +
    'response_format seed user stream stream_options presence_penalty frequency_penalty reasoning_effort store'
  ).split(' '),
);

/** Unknown members that are named in warnings at most: callers choose their names. */
const MOST_NAMED = 20;

/**
 * Translates a request. Throws `model.rejected` with all parts of the conversation that cannot be sent to the provider.
 * Parameters without a counterpart become warnings. Pure.
 *
 * @param provider the connection's name (`anthropic`), for what only some providers know
 */
export function toCallOptions(
  request: ChatRequest,
  provider: string,
  supportedUrls: SupportedUrls,
): { readonly options: LanguageModelV4CallOptions; readonly warnings: readonly SharedV4Warning[] } {
  refuse(unknownForms(request));
  const { prompt, problems } = toPrompt(request.messages, supportedUrls);
  refuse(problems);
  const warnings: SharedV4Warning[] = [];
  // Clients write null for none.
  const tools = request.tools ?? [];
  const options = {
    prompt,
    ...given('maxOutputTokens', request.max_completion_tokens ?? request.max_tokens),
    ...given('temperature', request.temperature),
    ...given('topP', request.top_p),
    ...given('topK', toNumber(request.top_k)),
    ...given('presencePenalty', toNumber(request.presence_penalty)),
    ...given('frequencyPenalty', toNumber(request.frequency_penalty)),
    ...given('seed', request.seed),
    ...given(
      'stopSequences',
      request.stop === undefined || request.stop === null ? null : [request.stop].flat(),
    ),
    ...given('responseFormat', toResponseFormat(request.response_format)),
    ...given('reasoning', reasoningEffort(request, provider, warnings)),
    ...given('providerOptions', providerOptions(request, provider, warnings)),
    ...(tools.length > 0 && {
      tools: tools.map(toTool),
      toolChoice: toToolChoice(request.tool_choice ?? 'auto'),
    }),
  } as LanguageModelV4CallOptions;
  const unknown = Object.keys(request).filter((name) => !KNOWN.has(name) && request[name] != null);
  const isNamed = request.messages.some(({ role, name }) => typeof name === 'string' && role !== 'tool');
  const lost = [...unknown.slice(0, MOST_NAMED), ...(isNamed ? ['the name of a message'] : [])];
  return { options, warnings: [...lost.map(unsupported), ...warnings] };
}

function unsupported(feature: string): SharedV4Warning {
  return { type: 'unsupported', feature };
}

/** Throws `model.rejected` where there are problems, with places as all errors of a body name them. */
function refuse(problems: readonly FieldError[]): void {
  if (problems.length === 0) return;
  throw ModelErrors.rejected('The conversation holds what this model provider does not take', {
    errors: problems.map((problem) => ({ ...problem, pointer: `/body${problem.pointer}` })),
    retryable: false,
  });
}

function toTool({
  function: { name, description, parameters, strict },
}: NonNullable<ChatRequest['tools']>[number]) {
  const inputSchema = parameters ?? { type: 'object', properties: {} };
  return {
    type: 'function' as const,
    name,
    inputSchema,
    ...given('description', description),
    ...given('strict', strict),
  };
}

function toToolChoice(choice: ToolChoice): LanguageModelV4ToolChoice {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.function.name };
}

function toResponseFormat(format: ResponseFormat | undefined) {
  if (!format) return undefined;
  if (format.type === 'text') return { type: 'text' as const };
  if (format.type === 'json_object') return { type: 'json' as const };
  const { name, schema, description } = format.json_schema;
  return { type: 'json' as const, name, ...given('schema', schema), ...given('description', description) };
}

/** The member, unless it has no value: providers treat a member that is undefined differently from none. */
function given<K extends string, V>(name: K, value: V | null | undefined): { [key in K]?: V } {
  return (value === undefined || value === null ? {} : { [name]: value }) as { [key in K]?: V };
}

function toNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** Values of `reasoning_effort` that the AI SDK knows too. */
const EFFORTS = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);

/**
 * The request's `reasoning_effort`; undefined leaves it to the provider how much is thought before the answer.
 * Anthropic refuses to continue thinking after a tool call unless it gets the thoughts before that call back. A client
 * that keeps only what OpenAI's format has does not send them: such a step is answered without new thoughts.
 */
function reasoningEffort(
  { reasoning_effort: effort, messages }: ChatRequest,
  provider: string,
  warnings: SharedV4Warning[],
): LanguageModelV4CallOptions['reasoning'] {
  if (effort === undefined || effort === null) return undefined;
  if (typeof effort !== 'string' || !EFFORTS.has(effort)) {
    warnings.push(unsupported('this reasoning_effort'));
    return undefined;
  }
  const last = messages.findLast(({ role }) => role === 'assistant' || role === 'user');
  const hasLostThoughts = (last?.tool_calls ?? []).length > 0 && reasoningDetailsOf(last!).length === 0;
  if (provider === 'anthropic' && effort !== 'none' && hasLostThoughts) {
    const message = 'no thinking after a tool call whose reasoning_details were not sent back';
    warnings.push({ type: 'other', message });
    return undefined;
  }
  return effort as LanguageModelV4CallOptions['reasoning'];
}

/** Options that only one provider knows; with all others they are lost. */
function providerOptions(
  request: ChatRequest,
  provider: string,
  warnings: SharedV4Warning[],
): SharedV4ProviderOptions | undefined {
  const isSerial = request.parallel_tool_calls === false && (request.tools ?? []).length > 0;
  if (provider !== 'anthropic') {
    if (isSerial) warnings.push(unsupported('parallel_tool_calls'));
    return undefined;
  }
  const anthropic: JSONObject = {
    ...(isSerial && { disableParallelToolUse: true }),
    ...(typeof request.user === 'string' && { metadata: { userId: request.user } }),
  };
  return Object.keys(anthropic).length > 0 ? { anthropic } : undefined;
}

/** Forms of answers that have a counterpart in the AI SDK. */
const FORMATS: ReadonlySet<string> = new Set(['text', 'json_object', 'json_schema']);

/**
 * The parts of a request in a form of another provider's own: tools, choices and calls that are no functions, unknown
 * forms of answers. They cannot be translated, and leaving them out would change what was asked for. Pure.
 */
export function unknownForms({
  messages,
  tools,
  tool_choice: choice,
  response_format: format,
}: ChatRequest): readonly FieldError[] {
  const problems: FieldError[] = [];
  const refuse = (pointer: string) =>
    problems.push({ pointer, message: 'is a type that this model provider does not take' });
  for (const [index, tool] of (tools ?? []).entries()) {
    if (!isFunction(tool)) refuse(`/tools/${index}/type`);
  }
  if (choice !== null && typeof choice === 'object' && !isFunction(choice)) refuse('/tool_choice/type');
  if (format && !FORMATS.has(format.type)) refuse('/response_format/type');
  for (const [index, { tool_calls: calls }] of messages.entries()) {
    for (const [place, call] of (calls ?? []).entries()) {
      if (!isFunction({ ...call, type: call.type ?? 'function' }))
        refuse(`/messages/${index}/tool_calls/${place}/type`);
    }
  }
  return problems;
}

/** Clients send anything: a value of the type `function` may have no function. */
function isFunction(given: { readonly type: string; readonly function?: unknown }): boolean {
  return given.type === 'function' && typeof given.function === 'object' && given.function !== null;
}
