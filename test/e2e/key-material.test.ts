import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { startTestGateway } from '../../testing/index.ts';
import { eachGatewayDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';

const TABLES = {
  sqlite: `select name from sqlite_master where type = 'table'`,
  postgres: `select tablename as name from pg_tables where schemaname = current_schema()`,
  mysql: 'select table_name as name from information_schema.tables where table_schema = database()',
};

/** All files below a folder, the journal of the audit and the database file of SQLite among them. */
async function filesBelow(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const texts = files.map(({ parentPath, name }) => textOf(path.join(parentPath, name)));
  return (await Promise.all(texts)).join('\n');
}

/** A file that was temporary may be gone by now. */
async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

eachGatewayDatabase(
  test,
  'key material is nowhere in database, files, logs or errors, wherever a client puts a key',
  async (t, fresh) => {
    const gateway = await startTestGateway({ env: { ...fresh.environment, LOG_LEVEL: 'trace' } });
    t.teardown(gateway.stop);
    const { request } = gateway;
    const post = async (where: string, body: object = {}) =>
      (await request(where, { method: 'POST', body })).body;
    const first = await post('/admin/v1/bootstrap');
    const plain = await post('/v1/api-keys', { name: 'plain' });
    const { new_key: rotated } = await post(
      `/admin/v1/tenants/${plain.tenant_id}/api-keys/${plain.id}/rotate`,
    );
    const wrong = `hk_${'w'.repeat(43)}`;
    const keys: string[] = [first.key, plain.key, rotated.key, wrong];
    const answers: string[] = [];

    for (const key of keys) {
      const misuses = [
        request('/v1/me', { token: key }),
        request('/v1/me', { token: `${key}x` }),
        request('/v1/me', { token: null, headers: { authorization: `Basic ${key}` } }),
        request('/v1/me', { token: null, headers: { 'x-api-key': key } }),
        request(`/v1/tenants?api_key=${key}&note=${key}`, { token: key }),
        request(`/v1/api-keys/${key}`, { method: 'DELETE' }),
        request(`/nowhere/${key}?q=${key}`),
        request('/v1/models', { headers: { 'x-svc-user-id': key, 'user-agent': key, cookie: `k=${key}` } }),
        request('/v1/api-keys', { method: 'POST', body: { name: 'x', roles: [key], [key]: key } }),
        request('/v1/api-keys', { method: 'POST', body: `{"name": ${key}`, headers: json }),
        request('/v1/tenants', { method: 'POST', body: { name: 'x', plan: key } }),
        request(`/v1/audit-logs?from=${key}&limit=${key}`),
        request('/v1/chat/completions', { method: 'POST', body: { model: key, messages: [hello] } }),
        request('/v1/me', { headers: { 'x-request-id': key, traceparent: key, baggage: `k=${key}` } }),
      ];
      for (const answer of await Promise.all(misuses)) answers.push(JSON.stringify(answer.body));
    }
    await until(async () => (await request('/v1/audit-logs?limit=1')).body.total > keys.length * 12);

    const tables = await fresh.ask(TABLES[fresh.family]);
    t.true(tables.length > 3);
    const quote = fresh.family === 'mysql' ? '`' : '"';
    const rows = tables.map(({ name }) => fresh.ask(`select * from ${quote}${name}${quote}`));
    const places = {
      database: JSON.stringify(await Promise.all(rows)),
      files: await filesBelow(fresh.environment.SVC_DATA_DIR ?? path.join(gateway.folder, 'data')),
      logs: gateway.logs().join('\n'),
      answers: answers.join('\n'),
      metrics: (await request('/metrics')).body,
    };
    const hash = (key: string) => createHash('sha256').update(key).digest('hex');
    // The places are the right ones: what may be there is there.
    t.true(places.database.includes(hash(first.key)));
    t.true(places.logs.includes('/v1/models'));
    for (const [place, text] of Object.entries(places)) {
      for (const [index, key] of keys.entries()) {
        const at = text.indexOf(key.slice(3, 40));
        t.is(at, -1, `key ${index} in ${place}: ${text.slice(Math.max(0, at - 150), at + 60)}`);
        if (place !== 'database' && place !== 'files') t.false(text.includes(hash(key)), place);
      }
      t.false(place !== 'files' && text.includes(gateway.token), place);
    }
  },
);

const json = { 'content-type': 'application/json' };
const hello = { role: 'user', content: 'hello' };
