import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { type Tool, ToolsPoint } from '../../../../plugins/agent-engine/contract.ts';
import agentEngine from '../../../../plugins/agent-engine/plugin.ts';
import platform from '../../../../plugins/platform/plugin.ts';
import records from '../../../../plugins/records/plugin.ts';
import { startTestGateway } from '../../../../testing/index.ts';
import { CARRIERS } from '../../../foundation/redaction/carriers.ts';
import { credentialParts } from '../../../foundation/redaction/credential-parts.ts';
import { credentialSamples, type Sample } from '../../../foundation/redaction/credential-samples.ts';
import {
  json,
  type ProviderScript,
  rawStream,
  sse,
  startFakeProvider,
} from '../../../support/fake-provider.ts';
import { testPlugin } from '../../../support/plugins.ts';
import { SEED, sample } from '../../../support/sample.ts';
import { AGENT, COMPLETIONS, providerEnv, USER } from './chat-kit.ts';

/** Of a stream, so that credentials are cut in many places. */
const PIECE = 5;

const ALL = credentialSamples(SEED).filter(({ isOpen, secret }) => isOpen !== true && secret.length < 1000);
const pairs = (isChosen: (found: Sample) => boolean) =>
  ALL.filter(isChosen).flatMap((found) => CARRIERS.map((carrier) => [found, carrier] as const));
/** Blocks of keys, whose line breaks are escapes in JSON, as everything. */
const BLOCKS = pairs(({ kind }) => kind === 'private-key');
const OTHERS = pairs(({ kind }) => kind !== 'private-key').filter((_, index) => index % 40 === SEED % 40);

const echo: Tool = {
  ref: 'builtin/echo',
  name: 'echo',
  description: 'Says the text again.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  invoke: async ({ text }) => ({ content: `It says ${text}` }),
};

const pieces = (text: string) => text.match(new RegExp(`[^]{1,${PIECE}}`, 'gu')) ?? [];

/** Thinks, says and calls with this text; streamed where that is asked for. */
function says(text: string, call?: string): ProviderScript {
  const answered = { content: text, reasoning_content: text };
  const args = JSON.stringify({ text });
  const called = (words: string) => ({ type: 'function', function: { name: call, arguments: words } });
  const finish_reason = call === undefined ? 'stop' : 'tool_calls';
  return (reply) => {
    if (reply.request.body?.stream !== true) {
      const tool_calls = call === undefined ? {} : { tool_calls: [{ id: 'call-1', ...called(args) }] };
      return json(200, {
        choices: [{ index: 0, message: { role: 'assistant', ...answered, ...tool_calls }, finish_reason }],
      })(reply);
    }
    const delta = (parts: object, finish: string | null = null) =>
      sse({ choices: [{ index: 0, delta: parts, finish_reason: finish }] });
    return rawStream(
      ...pieces(text).map((reasoning_content) => delta({ reasoning_content })),
      ...pieces(text).map((content) => delta({ content })),
      ...(call === undefined ? [] : [delta({ tool_calls: [{ index: 0, id: 'call-1', ...called('') }] })]),
      ...(call === undefined ? [] : pieces(args)).map((words) =>
        delta({ tool_calls: [{ index: 0, function: { arguments: words } }] }),
      ),
      delta({}, finish_reason),
      'data: [DONE]\n\n',
    )(reply);
  };
}

for (const stream of [false, true])
  for (const route of [AGENT, COMPLETIONS])
    test(`${route}: what a model says or calls with is neither shown nor stored with a credential${stream ? ', streamed' : ''}`, async (t) => {
      let current = '';
      const call = route === AGENT ? 'echo' : 'theirs';
      const provider = await startFakeProvider((reply) =>
        says(current, reply.request.body.messages.at(-1).role === 'tool' ? undefined : call)(reply),
      );
      t.teardown(() => provider[Symbol.asyncDispose]());
      const plugin = testPlugin('echo', {
        setup: (scope) => void scope.contribute(ToolsPoint, { prefix: 'builtin/', list: () => [echo] }),
      });
      const gateway = await startTestGateway({
        plugins: [records, agentEngine, platform, plugin],
        env: { OBJECT_STORE_URL: 'none', ...providerEnv(provider) },
      });
      t.teardown(gateway.stop);
      const tools = [{ type: 'function', function: { name: 'theirs', parameters: { type: 'object' } } }];
      const parts = credentialParts();
      let seen = '';
      for (const [found, { title, carry }] of [...sample(t, BLOCKS, 12), ...sample(t, OTHERS, 6)]) {
        if (found.kind === 'encoded-credential' && title.includes('base64')) continue;
        current = `Here: ${carry(found.lead + found.secret + found.tail)} and more.`;
        parts.add(found.secret, `TEST_SEED=${SEED}: ${found.kind} as ${title}`);
        const answer = await gateway.request(route, {
          method: 'POST',
          body: {
            messages: [USER],
            stream,
            include_agentic_blocks: true,
            ...(route === AGENT ? {} : { model: 'default', tools }),
          },
        });
        t.is(answer.status, 200, `${JSON.stringify(answer.body)}`);
        // Pieces of a stream are put together, as a client does.
        seen += `${typeof answer.body === 'string' ? joined(answer.body) : ''}${JSON.stringify(answer.body)}\n`;
        const session = answer.headers.get('x-svc-session-id');
        seen += JSON.stringify((await gateway.request(`/v1/sessions/${session}`)).body);
        const receipts = (await gateway.request(`/v1/execution-receipts?session_id=${session}`)).body;
        if (route === AGENT) t.is(receipts.total, 1, `TEST_SEED=${SEED}: ${found.kind} as ${title}`);
        seen += JSON.stringify(receipts);
      }
      seen += gateway.logs().join('\n');
      const data = path.join(gateway.folder, 'data');
      for (const entry of await readdir(data, { recursive: true, withFileTypes: true }))
        if (entry.isFile()) seen += await readFile(path.join(entry.parentPath, entry.name), 'latin1');
      for (const { lead, tail } of ALL) for (const name of [lead, tail, 'secret-token:']) parts.ignore(name);
      t.true(seen.includes('[REDACTED:'));
      t.is(parts.find(seen), undefined);
    });

/** The texts of a stream: answers, thoughts, arguments of calls. */
function joined(body: string): string {
  const texts = { content: '', reasoning_content: '', arguments: '' };
  for (const line of body.split('\n').filter((line) => line.startsWith('data: {'))) {
    const delta = JSON.parse(line.slice('data: '.length)).choices?.[0]?.delta ?? {};
    texts.content += delta.content ?? '';
    texts.reasoning_content += delta.reasoning_content ?? '';
    texts.arguments += delta.tool_calls?.[0]?.function?.arguments ?? '';
  }
  return Object.values(texts).join('\n');
}
