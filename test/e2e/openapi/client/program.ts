import { readFileSync } from 'node:fs';
import createClient from 'openapi-fetch';
import type { components, paths } from './gateway.ts';

/*
 * What somebody writes against the types that were made of the document. `client.test.ts` makes the types, checks this
 * file with them, and runs it.
 */

const { url, token }: { url: string; token: string } = JSON.parse(readFileSync(0, 'utf8'));
type Problem = components['schemas']['Problem'];
type Definition = paths['/v1/workflow-definitions']['post']['responses'][201]['content']['application/json'];

const optionsOf = (credential: string) => ({
  baseUrl: url,
  headers: { authorization: `Bearer ${credential}` },
});

/** The body of a success; an error ends the program. */
function must<D>({ data, error }: { readonly data?: D; readonly error?: unknown }): D {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const operator = createClient<paths>(optionsOf(token));
const tenant = must(await operator.POST('/v1/tenants', { body: { name: 'Typed', plan: 'pro' } }));
const plan: 'free' | 'pro' | 'enterprise' = tenant.plan;
const deletedAt: string | null = tenant.deleted_at;
const { key, roles } = must(
  await operator.POST('/admin/v1/tenants/{id}/api-keys', {
    params: { path: { id: tenant.id } },
    body: { name: 'typed', roles: ['admin'] },
  }),
);
const client = createClient<paths>(optionsOf(key));
/** For what may answer with a stream as well: of JSON alone. */
const json = createClient<paths, 'application/json'>(optionsOf(key));

// A chat, whole and as a stream.
const messages = [{ role: 'user' as const, content: 'Hello!' }];
const chat = await json.POST('/v1/chat/completions', { body: { model: 'demo', messages, top_k: 3 } });
const said: string | null | undefined = must(chat).choices[0]?.message.content;
const streamed = await client.POST('/v1/chat/completions', {
  body: { model: 'demo', messages, stream: true },
  parseAs: 'stream',
});
const events: string = await new Response(must(streamed)).text();

const sessions = must(await client.GET('/v1/sessions', { params: { query: { limit: 10 } } }));
const usage = must(await client.GET('/v1/usage', { params: { query: { granularity: 'month' } } }));
const tokens: number = usage.data.reduce((sum, { total_tokens }) => sum + total_tokens, 0);

// A workflow with a person in it.
const definition: Definition = must(
  await client.POST('/v1/workflow-definitions', {
    body: {
      name: 'typed',
      graph: {
        nodes: [
          { id: 'start', type: 'start' },
          { id: 'ask', type: 'human_task', config: { instructions: 'Say' } },
          { id: 'end', type: 'end' },
        ],
        edges: [
          { from: 'start', to: 'ask' },
          { from: 'ask', to: 'end' },
        ],
      },
    },
  }),
);
const path = { id: definition.id };
const version = must(await client.POST('/v1/workflow-definitions/{id}/publish', { params: { path } }));
const started = must(
  await client.POST('/v1/workflow-runs', {
    params: { query: { wait: 10 } },
    body: { definition_id: definition.id, input: { customer: 'Acme' } },
  }),
);
const [task] = must(await client.GET('/v1/workflow-tasks'));
await client.POST('/v1/workflow-tasks/{step_run_id}/complete', {
  params: { path: { step_run_id: task?.step_run_id ?? '' } },
  body: { outcome: 'said' },
});
const run = must(await client.GET('/v1/workflow-runs/{id}', { params: { path: { id: started.id } } }));

// Text, a form, bytes, and an answer without content.
const profile = await client.PUT('/v1/profile', {
  body: 'Likes tea.',
  bodySerializer: (text) => text,
  headers: { 'content-type': 'text/plain' },
});
const nothing: undefined = profile.data;
const text: string = must(await client.GET('/v1/profile', { parseAs: 'text' }));
const { file } = must(
  await client.POST('/api/v2/files', {
    body: { file: 'green' },
    bodySerializer(body) {
      const form = new FormData();
      form.append('file', new Blob([body.file]), 'tea.txt');
      return form;
    },
  }),
);
const download = await client.GET('/api/v2/files/{id}/content', {
  params: { path: { id: file.id } },
  parseAs: 'blob',
});

// Errors of the three dialects.
const { error: problem } = await operator.POST('/v1/tenants', { body: { name: '' } });
const pointers = (problem satisfies Problem | undefined)?.errors?.map(({ pointer }) => pointer);
const unknown = await client.POST('/v1/chat/completions', { body: { model: 'nobody', messages } });
const code: string | undefined = unknown.error?.error.code;
const conversation = await client.GET('/v1/conversation/retrieve', {
  params: { query: { conversation_id: 'nobody' } },
});
const number: number | undefined = conversation.error?.code;

process.stdout.write(
  JSON.stringify({
    plan,
    deletedAt,
    roles,
    said,
    events,
    tokens,
    nothing,
    text,
    pointers,
    code,
    number,
    sessions: sessions.total,
    version: version.version,
    run: [started.status, run.status, run.steps.map(({ outcome }) => outcome)],
    download: await must(download).text(),
  }),
);
