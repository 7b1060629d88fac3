import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a fake model answers: a text, or what else models do. */
export type FakeModelAnswer =
  | string
  | {
      /** What it says, before its calls of tools. */
      readonly text?: string;
      /** The same as so many chunks of a stream; their sum is the text. Default: a chunk for each word. */
      readonly pieces?: readonly string[];
      /** The tools that it calls, each by its name. */
      readonly calls?: readonly { readonly name: string; readonly arguments?: object }[];
      /** An HTTP status from 400 in the place of an answer. The engine repeats what may pass, 500 for instance. */
      readonly status?: number;
    };

/** A request as the model's server saw it: the body of a chat completion in OpenAI's form. */
export interface FakeModelRequest {
  /** The name of the model. */
  readonly model: string;
  /** With the system prompt, the history, and what tools returned. */
  readonly messages: readonly {
    readonly role: string;
    // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
    readonly content: any;
    readonly tool_call_id?: string;
  }[];
  /** What it may call. */
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters: object } }[];
  readonly stream?: boolean;
  readonly [member: string]: unknown;
}

/**
 * A model that says what the test wants. It begins to answer with the gateway that has it as its `model`, and ends with
 * it.
 */
export interface FakeModel {
  /** What it was asked, oldest first. */
  readonly requests: readonly FakeModelRequest[];
  /** Serves it on a port of the loopback interface until it is disposed. `startTestGateway({ model })` does that. */
  listen(): Promise<{ readonly url: string } & AsyncDisposable>;
}

/**
 * A model for tests of what chats: each call gets the next answer, and the last answer again when there is no other. A
 * function makes the answer from what is asked. Plain and streamed calls get the same.
 *
 * @example
 * const model = fakeModel({ calls: [{ name: 'roll_dice', arguments: { sides: 6 } }] }, 'You rolled a four.');
 * await using gateway = await startTestGateway({ plugins: [...(await bundledPlugins()), dice], model });
 */
export function fakeModel(
  ...answers: readonly (FakeModelAnswer | ((request: FakeModelRequest) => FakeModelAnswer))[]
): FakeModel {
  const requests: FakeModelRequest[] = [];

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = JSON.parse(Buffer.concat(await incoming.toArray()).toString()) as FakeModelRequest;
    const answer = answers[Math.min(requests.length, answers.length - 1)] ?? '';
    requests.push(request);
    reply(response, request, typeof answer === 'function' ? answer(request) : answer);
  }

  return {
    requests,
    async listen() {
      const server = createServer((incoming, response) => {
        handle(incoming, response).catch((failure: Error) => refuse(response, 500, failure.message));
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      return {
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
        async [Symbol.asyncDispose]() {
          server.closeAllConnections();
          await once(server.close(), 'close');
        },
      };
    },
  };
}

function reply(response: ServerResponse, { stream, model }: FakeModelRequest, answer: FakeModelAnswer): void {
  const { text, pieces, calls = [], status } = typeof answer === 'string' ? { text: answer } : answer;
  if (status !== undefined) {
    refuse(response, status, 'the fake model was set to fail');
    return;
  }
  const said = pieces ?? (text ?? '').match(/\s*\S+\s*$|\s*\S+/g) ?? [];
  const called = calls.map(({ name, arguments: given = {} }, index) => ({
    id: `call_${index + 1}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  }));
  const common = { id: 'chatcmpl-fake', created: 0, model };
  if (stream === true) sendStream(response, common, said, called);
  else sendWhole(response, common, said, called);
}

function sendWhole(
  response: ServerResponse,
  common: object,
  said: readonly string[],
  called: readonly object[],
) {
  const content = said.length > 0 ? said.join('') : null;
  const message = { role: 'assistant', content, ...(called.length > 0 && { tool_calls: called }) };
  const choices = [{ index: 0, message, finish_reason: finishOf(called) }];
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ ...common, object: 'chat.completion', choices, usage: USAGE }));
}

function sendStream(
  response: ServerResponse,
  common: object,
  said: readonly string[],
  called: readonly object[],
) {
  const send = (chunk: object) =>
    response.write(`data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', ...chunk })}\n\n`);
  const sendDelta = (delta: object, finish_reason: string | null = null) =>
    send({ choices: [{ index: 0, delta, finish_reason }] });
  response.setHeader('content-type', 'text/event-stream');
  for (const content of said) sendDelta({ content });
  for (const [index, call] of called.entries()) sendDelta({ tool_calls: [{ index, ...call }] });
  sendDelta({}, finishOf(called));
  send({ choices: [], usage: USAGE });
  response.end('data: [DONE]\n\n');
}

function finishOf(called: readonly object[]): string {
  return called.length > 0 ? 'tool_calls' : 'stop';
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: 'fake_model' } }));
}

const USAGE = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };
