import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import test from 'ava';
import { GatewayResponse } from '../../../foundation/http/early-answers.ts';
import { createServer } from '../../../foundation/http/node-http.ts';

test('a connection whose requests are answered early keeps nothing of each', async (t) => {
  const ways = new Set<unknown>();
  const server = createServer({ ServerResponse: GatewayResponse }, ({ socket }, response) => {
    response.end('no');
    ways.add(socket.destroySoon);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.teardown(() => client.destroy());
  for (let request = 0; request < 20; request += 1) {
    // The body follows when the answer is there.
    client.write('POST / HTTP/1.1\r\nHost: gateway\r\nContent-Length: 2\r\n\r\n');
    await answered(client);
    client.write('{}');
  }
  t.is(ways.size, 1);
});

async function answered(client: Socket): Promise<void> {
  for (let text = ''; !text.endsWith('no'); ) {
    const [part] = await once(client, 'data');
    text += part;
  }
}
