import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A message as the gateway sends it. */
interface Message {
  readonly role: string;
  readonly content: unknown;
}

/** What a simulated model does with a task: the name of a tool, and whether it is going to work. */
export type Decide = (id: string, prompt: string) => { readonly name: string; readonly works: boolean };

/** A server of chat completions: a user's text with `"#id"` is a task, for which it calls one tool; then it is done. */
export async function startModel(decide: Decide): Promise<{ readonly url: string; close(): void }> {
  const server: Server = createServer(async (incoming, response) => {
    const request = JSON.parse(Buffer.concat(await incoming.toArray()).toString()) as {
      readonly messages: readonly Message[];
      readonly stream?: boolean;
    };
    const message = answerTo(request.messages, decide);
    const base = { id: 'x', created: 1, model: 'bench' };
    const usage = { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 };
    const finish_reason = 'tool_calls' in message ? 'tool_calls' : 'stop';
    if (request.stream !== true) {
      response.setHeader('content-type', 'application/json');
      const choices = [{ index: 0, message, finish_reason }];
      response.end(JSON.stringify({ ...base, object: 'chat.completion', choices, usage }));
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    const chunk = (choices: readonly object[], more: object = {}) =>
      `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
    response.write(chunk([{ index: 0, delta: message, finish_reason: null }]));
    response.write(chunk([{ index: 0, delta: {}, finish_reason }]));
    response.end(`${chunk([], { usage })}data: [DONE]\n\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

function answerTo(messages: readonly Message[], decide: Decide) {
  const last = messages.at(-1);
  const id = last?.role === 'user' ? /"#([^"]+)"/.exec(String(last.content))?.[1] : undefined;
  if (id === undefined) return { role: 'assistant', content: 'Done.' };
  const prompt = messages
    .filter(({ role }) => role === 'system')
    .map(({ content }) => String(content))
    .join('\n');
  const { name, works } = decide(id, prompt);
  const call = { index: 0, id: `call_${id}`, type: 'function' };
  return {
    role: 'assistant',
    content: null,
    tool_calls: [{ ...call, function: { name, arguments: JSON.stringify({ works }) } }],
  };
}
