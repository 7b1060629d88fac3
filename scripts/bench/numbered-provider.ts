import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { announce } from './child.ts';

/*
 * A model provider whose streams are numbered: `n0 n1 n2 …`, one chunk each PACE_MS, until `POST /finish` ends those
 * that are open with `end` and how many there were. A message that says `prompt` gets its system prompt at once.
 */

const PACE_MS = Number(process.env.PACE_MS ?? 500);

const chunk = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({
    id: 'x',
    created: 1,
    model: 'bench',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  })}\n\n`;
const END = `${chunk({}, 'stop')}data: [DONE]\n\n`;

/** The functions that end the open streams. */
const open = new Set<() => void>();

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/finish') {
    for (const end of open) end();
    response.end();
    return;
  }
  const { messages } = JSON.parse(await text(request)) as {
    messages: readonly { role: string; content: string }[];
  };
  response.setHeader('content-type', 'text/event-stream');
  if (messages.at(-1)?.content === 'prompt') {
    response.end(chunk({ role: 'assistant', content: messages[0]?.content ?? '' }) + END);
    return;
  }
  let sent = 0;
  const next = () => {
    response.write(chunk({ role: 'assistant', content: `n${sent} ` }));
    sent += 1;
  };
  next();
  const pace = setInterval(next, PACE_MS);
  const end = () => response.end(chunk({ content: `end ${sent}` }) + END);
  open.add(end);
  response.once('close', () => {
    clearInterval(pace);
    open.delete(end);
  });
}

const server = createServer(answer);
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => announce(server));
