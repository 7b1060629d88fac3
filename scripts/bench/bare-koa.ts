import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import Router from '@koa/router';
import Koa from 'koa';
import { Agent, request } from 'undici';
import { announce } from './child.ts';

/*
 * A Koa application with a router and nothing of the gateway: it answers with the identity as JSON, and passes the chat
 * on.
 */

const provider = process.env.PROVIDER_URL!;
const agent = new Agent({ connections: 1024 });
const router = new Router();

router.get('/v1/me', (context) => {
  context.body = { identity: 'bench', tenant_id: 'bench', roles: ['user'], auth_method: 'api_key' };
});

router.post('/v1/chat/completions', async (context) => {
  const body = await readJson(context.req);
  const answer = await request(`${provider}/chat/completions`, {
    method: 'POST',
    dispatcher: agent,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  context.status = answer.statusCode;
  context.set('content-type', String(answer.headers['content-type']));
  context.body = body.stream ? Readable.from(answer.body) : await answer.body.json();
});

const app = new Koa();
app.silent = true;
app.use(router.routes());

async function readJson(stream: AsyncIterable<Buffer>): Promise<{ stream?: boolean }> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
}

const server = createServer(app.callback());
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => announce(server));
