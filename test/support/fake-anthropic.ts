import { json, type ProviderScript, rawStream, sse } from './fake-provider.ts';

/*
 * Scripts for `startFakeProvider` that answer like Anthropic's Messages API, version 2023-06-01.
 * Source: https://docs.anthropic.com/en/api/messages and /en/api/messages-streaming
 */

/** A block of an answer's content. */
export type AnthropicBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: object };

/** What an answer is made of. */
export interface AnthropicAnswer {
  readonly content?: readonly AnthropicBlock[];
  readonly stop_reason?: string;
  readonly usage?: Readonly<Record<string, number>>;
}

const USAGE = { input_tokens: 10, output_tokens: 5 };
const HELLO: AnthropicBlock = { type: 'text', text: 'Hello from Claude.' };

/** A whole answer, or its stream where the request asks for one. */
export function anthropic(answer: AnthropicAnswer = {}): ProviderScript {
  return (reply) =>
    (reply.request.body?.stream === true ? rawStream(...anthropicEvents(answer)) : whole(answer))(reply);
}

/** An error in Anthropic's form. */
export function anthropicFailure(
  status: number,
  message = `failure ${status}`,
  headers: Record<string, string> = {},
): ProviderScript {
  const types: Record<number, string> = {
    400: 'invalid_request_error',
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    429: 'rate_limit_error',
    529: 'overloaded_error',
  };
  const error = { type: types[status] ?? 'api_error', message };
  return json(status, { type: 'error', error, request_id: 'req_fake' }, headers);
}

/**
 * The events of a stream, each with its name and its blank line. Texts and arguments come in pieces of 4 characters.
 */
export function anthropicEvents({
  content = [HELLO],
  stop_reason = 'end_turn',
  usage = USAGE,
}: AnthropicAnswer = {}): string[] {
  const { output_tokens, ...input } = { ...USAGE, ...usage };
  const message = { ...head([], null), usage: { ...input, output_tokens: 1 } };
  const blocks = content.flatMap((block, index) => [
    event({ type: 'content_block_start', index, content_block: begun(block) }),
    ...deltas(block).map((delta) => event({ type: 'content_block_delta', index, delta })),
    event({ type: 'content_block_stop', index }),
  ]);
  return [
    event({ type: 'message_start', message }),
    event({ type: 'ping' }),
    ...blocks,
    event({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens } }),
    event({ type: 'message_stop' }),
  ];
}

/** An event that says that the answer failed. */
export function anthropicErrorEvent(type = 'overloaded_error', message = 'Overloaded'): string {
  return event({ type: 'error', error: { type, message } });
}

function whole({
  content = [HELLO],
  stop_reason = 'end_turn',
  usage = USAGE,
}: AnthropicAnswer): ProviderScript {
  return json(200, { ...head(content, stop_reason), usage: { ...USAGE, ...usage } });
}

function head(content: readonly AnthropicBlock[], stop_reason: string | null) {
  return {
    id: 'msg_fake',
    type: 'message',
    role: 'assistant',
    model: 'claude-fake-1',
    content,
    stop_reason,
    stop_sequence: null,
  };
}

function begun(block: AnthropicBlock): object {
  if (block.type === 'text') return { type: 'text', text: '' };
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return { ...block, input: {} };
}

function deltas(block: AnthropicBlock): object[] {
  if (block.type === 'text') return pieces(block.text).map((text) => ({ type: 'text_delta', text }));
  if (block.type === 'tool_use') {
    return ['', ...pieces(JSON.stringify(block.input))].map((partial_json) => ({
      type: 'input_json_delta',
      partial_json,
    }));
  }
  const { thinking, signature } = block;
  return [
    ...pieces(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
    { type: 'signature_delta', signature },
  ];
}

function pieces(text: string): string[] {
  return text.match(/.{1,4}/gsu) ?? [];
}

function event(data: { readonly type: string; readonly [extra: string]: unknown }): string {
  return `event: ${data.type}\n${sse(data)}`;
}
