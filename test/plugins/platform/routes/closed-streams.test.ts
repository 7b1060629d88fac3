import { request } from 'node:http';
import test from 'ava';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { until } from '../../../support/until.ts';
import { AGENT, COMPLETIONS, says, startChat, USER } from './chat-kit.ts';

/** Streams a chat and closes the connection as soon as `[DONE]` has come, as OpenAI's library does. */
function readToDone(url: string, token: string, sessionId: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'x-svc-session-id': sessionId,
  };
  const sent = request(url, { method: 'POST', headers }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      if (!text.includes('data: [DONE]')) return;
      sent.destroy();
      resolve();
    });
    response.once('end', () => reject(new Error(`no [DONE] in ${text}`)));
  });
  sent.once('error', reject);
  sent.end(JSON.stringify({ model: 'default', stream: true, messages: [USER] }));
  return promise;
}

eachGatewayDatabase(
  test,
  'a client that closes after [DONE] has read all of the answer',
  async (t, fresh) => {
    const { gateway } = await startChat(
      t,
      Array.from({ length: 8 }, () => says()),
      { env: fresh.environment },
    );
    for (const path of [COMPLETIONS, AGENT])
      for (let turn = 0; turn < 4; turn += 1)
        await readToDone(gateway.url + path, gateway.token, `s${path.length}`);
    const statuses = async () => {
      const { body } = await gateway.request('/v1/audit-logs?limit=100');
      return body.audit_logs
        .filter(({ action }: { action: string }) => action.startsWith('POST'))
        .map((one: { status_code: number }) => one.status_code);
    };
    await until(async () => (await statuses()).length === 8);
    t.deepEqual(
      await statuses(),
      Array.from({ length: 8 }, () => 200),
    );
  },
);
