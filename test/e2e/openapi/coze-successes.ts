import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestGateway } from '../../../testing/index.ts';
import { until } from '../../support/until.ts';
import type { Input } from './inputs.ts';
import type { Step } from './step.ts';

const RESOURCES = `
apiVersion: svc/v1
kind: Agent
metadata: { name: careful }
spec:
  type: chat_model_agent
  system_prompt: Help.
  tools: [{ ref: builtin/calculator, requires_approval: true }]
---
apiVersion: svc/v1
kind: Workflow
metadata: { name: ask }
spec:
  graph:
    nodes: [{ id: start, type: start }, { id: ask, type: human_task }, { id: done, type: end }]
    edges: [{ from: start, to: ask }, { from: ask, to: done }]
`;
const SAID = [{ role: 'user', content: 'Use the calculator: what is 17 * 23?' }];
const FLOW = { workflow_id: 'ask' };

/** One success or more of what the compatible SDK calls. */
export function cozeSuccesses({ request, folder, gateway }: TestGateway): readonly Step[] {
  const post = async (where: string, body: object) => (await request(where, { method: 'POST', body })).body;

  async function conversation(): Promise<Input> {
    await writeFile(path.join(folder, 'agents.d', 'coze.yaml'), RESOURCES);
    await gateway.services.resources.reload();
    return { body: { bot_id: 'careful', messages: SAID } };
  }
  /** A chat that waits for an approval. */
  async function chat() {
    const { data } = await post('/v3/chat', { bot_id: 'careful', additional_messages: SAID });
    const query = { conversation_id: data.conversation_id as string, chat_id: data.id as string };
    let now = data;
    await until(async () => {
      now = (await request(`/v3/chat/retrieve?${new URLSearchParams(query)}`)).body.data;
      return now.status === 'requires_action';
    });
    return { query, call: now.required_action.submit_tool_outputs.tool_calls[0].id as string };
  }
  async function outputs(): Promise<Input> {
    const { query, call } = await chat();
    return { query, body: { tool_outputs: [{ tool_call_id: call, output: 'approve' }] } };
  }
  async function interrupt(): Promise<Input> {
    const events: string = await post('/v1/workflow/stream_run', FLOW);
    const [, event_id] = /"event_id":"([^"]+)"/.exec(events)!;
    return { body: { ...FLOW, event_id, resume_data: { output: {} }, interrupt_type: 2 } };
  }
  const place = async (): Promise<Input> => ({ query: (await chat()).query });
  const known = ({ conversation_id = '' }) => ({ query: { conversation_id } });
  const flow =
    (more: object = {}) =>
    () => ({ body: { ...FLOW, ...more } });

  return [
    [
      'POST /v1/conversation/create',
      conversation,
      (all, { data }) => {
        all.conversation_id = data.id;
      },
    ],
    ['GET /v1/conversation/retrieve', known],
    ['POST /v1/conversation/message/list', (all) => ({ ...known(all), body: {} })],
    ['POST /v3/chat', () => ({ body: { bot_id: 'careful', additional_messages: SAID } })],
    [
      'POST /v3/chat',
      () => ({
        body: { bot_id: 'careful', additional_messages: [{ role: 'user', content: 'Hello' }], stream: true },
      }),
    ],
    ['GET /v3/chat/retrieve', place],
    ['POST /v3/chat/retrieve', place],
    ['GET /v3/chat/message/list', place],
    ['POST /v3/chat/message/list', place],
    ['POST /v3/chat/submit_tool_outputs', outputs],
    ['POST /v3/chat/cancel', async () => ({ body: (await chat()).query })],
    ['GET /api/v2/workflows/{workflow_id}', () => ({ params: FLOW })],
    ...['/api/v2/workflows', '/v1/workflow'].flatMap((at): Step[] => [
      [
        `POST ${at}/run`,
        flow({ is_async: true }),
        (all, { execute_id }) => {
          all.execute_id = execute_id;
        },
      ],
      [`POST ${at}/stream_run`, flow()],
      [`POST ${at}/stream_resume`, interrupt],
    ]),
    ...['/api/v2', '/v1'].map(
      (at): Step => [
        `GET ${at}/workflows/{workflow_id}/run_histories/{execute_id}`,
        ({ execute_id = '' }) => ({ params: { ...FLOW, execute_id } }),
      ],
    ),
    ['POST /api/v2/workflows/chat', flow({ additional_messages: SAID })],
    ['POST /v1/workflows/chat', flow({ additional_messages: SAID })],
  ];
}
