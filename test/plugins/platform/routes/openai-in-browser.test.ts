import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readBlocks } from '../../../examples/readme-blocks.ts';
import { openBrowser } from '../../../support/browser.ts';
import { startPlatform } from '../platform-gateway.ts';

const root = path.resolve(import.meta.dirname, '../../../..');

/** Serves an empty page, and the libraries as they are installed. Gives its origin. */
async function servePage(t: ExecutionContext): Promise<string> {
  const server = http.createServer(async ({ url = '/' }, response) => {
    const isModule = url.startsWith('/openai');
    const body = isModule ? await readFile(path.join(root, 'node_modules', url)) : '<!doctype html>';
    response.writeHead(200, { 'content-type': isModule ? 'text/javascript' : 'text/html' }).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.closeAllConnections());
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

for (const library of ['openai', 'openai-v6']) {
  test(`${library} in a page of another origin, set up as the guide says, chats, streams and reads errors`, async (t) => {
    t.timeout(120_000);
    const browser = await openBrowser(t);
    if (browser === undefined) return;
    const origin = await servePage(t);
    const gateway = await startPlatform(t, { env: { SAAS_ALLOWED_ORIGINS: origin } });
    const { key } = await gateway.key();
    const guide = readBlocks(await readFile(path.join(root, 'docs/clients.md'), 'utf8'));
    const setUp = guide.find(({ section }) => section === 'From pages of other origins')!.text;
    const page = await browser.newPage();
    await page.goto(origin);
    const said = await page.evaluate(`(async () => {
      const { default: OpenAI } = await import('/${library}/index.mjs');
      const apiKey = ${JSON.stringify(key)};
      ${setUp.replace('https://gateway.example', gateway.url)}
      const chat = { model: 'default', messages: [{ role: 'user', content: 'Hi' }] };
      const plain = (await client.chat.completions.create(chat)).choices[0].message.content;
      let streamed = '';
      for await (const { choices } of await client.chat.completions.create({ ...chat, stream: true }))
        streamed += choices[0]?.delta.content ?? '';
      const { status } = await client.chat.completions.create({ ...chat, model: 'none' }).catch((error) => error);
      return { plain, streamed, status };
    })()`);
    const { plain, streamed, status } = said as Record<string, unknown>;
    t.truthy(plain);
    t.is(streamed, plain);
    t.is(status, 404);
  });
}
