import { createServer } from 'node:http';
import { announce } from './child.ts';

/*
 * A model provider that costs next to nothing: prepared bytes, written as fast as the client takes them. `POST
 * /chat/completions` answers plainly, or with CHUNKS chunks when the body asks for a stream; with PACE_MS set, a stream
 * pauses between its chunks, as a real model does.
 */

const CHUNKS = Number(process.env.CHUNKS ?? 66);
const PACE_MS = Number(process.env.PACE_MS ?? 0);

const base = { id: 'x', created: 1, model: 'bench' };
const usage = { prompt_tokens: 9, completion_tokens: CHUNKS, total_tokens: 9 + CHUNKS };
const plain = JSON.stringify({
  ...base,
  object: 'chat.completion',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'word '.repeat(CHUNKS) }, finish_reason: 'stop' },
  ],
  usage,
});
const chunk = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const chunks = [
  chunk({ role: 'assistant', content: '' }),
  ...Array.from({ length: CHUNKS - 2 }, () => chunk({ content: 'word ' })),
  chunk({}, 'stop'),
];
const end = `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices: [], usage })}\n\ndata: [DONE]\n\n`;

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (part: string) => {
    body += part;
  });
  request.on('end', () => {
    if (!body.includes('"stream":true')) {
      response.setHeader('content-type', 'application/json');
      response.end(plain);
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    response.flushHeaders();
    const write = (index: number) => {
      if (index === chunks.length) response.end(end);
      else {
        response.write(chunks[index]);
        if (PACE_MS === 0) setImmediate(write, index + 1);
        else setTimeout(write, PACE_MS, index + 1);
      }
    };
    write(0);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => announce(server));
