import test from 'ava';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { startPlatform } from '../platform-gateway.ts';

const HALVES = ['a\ud800', '\udc00b', 'a\0b'];

eachGatewayDatabase(
  test,
  'text that no database keeps is the caller’s mistake, and named',
  async (t, { environment }) => {
    const gateway = await startPlatform(t, { env: environment });
    const { request } = gateway;
    const tenant = await gateway.tenant();
    const paths = [
      ['DELETE', `/admin/v1/tenants/%00/api-keys/${tenant}`],
      ['DELETE', `/admin/v1/tenants/${tenant}/api-keys/a%00b`],
      ['POST', `/admin/v1/tenants/${tenant}/api-keys/%00/rotate`],
      ['GET', '/v1/tenants/%00'],
      ['GET', '/v1/sessions/%00'],
      ['GET', '/v1/skills/%00'],
    ] as const;
    for (const [method, path] of paths) {
      const answer = await request(path, { method });
      t.true([400, 404].includes(answer.status), `${method} ${path}: ${answer.status}`);
    }

    for (const name of HALVES) {
      const bodies = [
        ['POST', '/v1/tenants', '/body/name'],
        ['PUT', `/v1/tenants/${tenant}`, '/body/name'],
        ['POST', '/v1/api-keys', '/body/name'],
      ] as const;
      for (const [method, path, pointer] of bodies) {
        const { status, body } = await request(path, { method, body: { name } });
        t.deepEqual(
          [status, body.code, body.errors?.[0]?.pointer],
          [400, 'request.invalid', pointer],
          `${method} ${path}`,
        );
      }
    }
    const query = await request('/v1/audit-logs?action=a%00b');
    t.deepEqual([query.status, query.body.errors[0].pointer], [400, '/query/action']);
    t.is((await request('/v1/tenants')).body.total, 2);
  },
);
