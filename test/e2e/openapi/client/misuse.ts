import createClient from 'openapi-fetch';
import type { paths } from './gateway.ts';

/*
 * What does not compile, line by line: `client.test.ts` expects an error in each line that ends with `// wrong`, and
 * nowhere else.
 */

const client = createClient<paths>({ baseUrl: 'http://127.0.0.1/' });
const json = createClient<paths, 'application/json'>({ baseUrl: 'http://127.0.0.1/' });

export async function misuse(): Promise<void> {
  await client.GET('/v1/tenant'); // wrong
  await client.PATCH('/v1/tenants'); // wrong
  await client.POST('/v1/tenants', {}); // wrong
  await client.POST('/v1/tenants', { body: {} }); // wrong
  await client.POST('/v1/tenants', { body: { name: 7 } }); // wrong
  await client.POST('/v1/tenants', { body: { name: 'a', plan: 'gold' } }); // wrong
  await client.GET('/v1/tenants/{id}'); // wrong
  await client.GET('/v1/usage', { params: { query: { granularity: 'week' } } }); // wrong
  await client.POST('/v1/chat/completions', { body: { model: 'demo', messages: [{ role: 'me' }] } }); // wrong
  await client.POST('/v1/workflow-definitions', { body: { name: 'a', graph: 7 } }); // wrong
  const graph = { nodes: [{ id: 7, type: 'start' }], edges: [] };
  await client.POST('/v1/workflow-definitions', { body: { name: 'a', graph } }); // wrong
  await client.PUT('/v1/profile', { body: { likes: 'tea' } }); // wrong

  const { data: tenant, error } = await client.GET('/v1/tenants/{id}', { params: { path: { id: 'a' } } });
  const plan: 'free' = tenant!.plan; // wrong
  const deletedAt: string = tenant!.deleted_at; // wrong
  const owner = tenant!.owner; // wrong
  const message = error!.message; // wrong
  const { data: chat, error: refused } = await json.POST('/v1/agent/chat', { body: { messages: [] } });
  const content: number = chat!.choices[0]!.message.content; // wrong
  const status = refused!.status; // wrong
  const { data: sessions } = await client.GET('/v1/sessions');
  const total: string = sessions!.total; // wrong
  const { data: interrupts } = await client.GET('/api/v2/chat/interrupts');
  const label: number = interrupts!.interrupts[0]!.fields[0]!.label; // wrong
  const { data: said } = await client.POST('/v3/chat/message/list', {
    params: { query: { conversation_id: 'a', chat_id: 'b' } },
  });
  const time: string = said!.data[0]!.created_at; // wrong
  void [plan, deletedAt, owner, message, content, status, total, label, time];
}
