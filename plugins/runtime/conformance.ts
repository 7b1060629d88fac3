import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ConformanceOptions } from 'agent-gateway/testing';

/** An agent that asks before it calculates, and one that only answers. */
const HELPER = `apiVersion: svc/v1
kind: Agent
metadata: { name: helper, description: Calculates }
spec:
  type: chat_model_agent
  tools: [{ ref: builtin/calculator, requires_approval: true }]
---
apiVersion: svc/v1
kind: Agent
metadata: { name: plain, description: Answers }
spec: { type: chat_model_agent }
`;
/** How often, 100 ms apart, a chat is polled until it has ended. */
const LOOKS = 100;
const QUESTION = 'Use the calculator: what is 17 * 23?';
const NONE = { params: { id: 'none' } };

/** What the conformance suite cannot find out by itself. */
export default {
  samples: {
    'POST /api/v2/agents/{agent_id}/state': {
      params: { agent_id: 'helper' },
      body: { key: 'tea', value: '{marker}' },
    },
    'GET /api/v2/agents/{agent_id}/state': { params: { agent_id: 'helper' } },
    'GET /api/v2/agents/{agent_id}/state/{key}': { params: { agent_id: 'helper', key: 'tea' } },
    'DELETE /api/v2/agents/{agent_id}/state/{key}': { params: { agent_id: 'helper', key: 'tea' } },
    'GET /api/v2/chat/interrupt_state': { query: { agent_id: 'helper' } },
    'svc.conversation.v1.ConversationService/ListConversations': { body: {} },
    'GET /api/v2/memory/long-term': { query: { user_id: '{marker}' } },
    // With unknown ids: the suite needs the chat later.
    'POST /v3/chat/cancel': { body: { conversation_id: 'none', chat_id: 'none' } },
    'POST /api/v2/admin/reload': NONE,
  },
  shared: [
    // These belong to the deployment, and are the same for all tenants.
    'GET /api/v2/agents',
    'GET /api/v2/tools',
    'GET /api/v2/admin/status',
    'GET /api/v2/admin/agents',
    'GET /api/v2/admin/agents/{name}',
    'GET /api/v2/admin/logs',
    'GET /api/v2/admin/mcp/servers',
    'GET /api/v2/admin/mcp/servers/{name}/tools',
    'svc.agent.v1.AgentService/ListAgents',
    'svc.agent.v1.AgentService/GetAgent',
    'svc.model.v1.ModelService/ListModels',
    'svc.model.v1.ModelService/GetModel',
    'svc.tool.v1.ToolService/ListTools',
    'svc.tool.v1.ToolService/GetTool',
    // There is none while no chat is in flight.
    'GET /api/v2/chat/stream',
    // Without the plugins of workflows and of skills there is nothing to show.
    'GET /api/v2/workflows/{workflow_id}',
    'GET /api/v2/workflows/{workflow_id}/run_histories/{execute_id}',
    'GET /v1/workflows/{workflow_id}/run_histories/{execute_id}',
    'GET /api/v2/skills',
    'GET /api/v2/skills/search',
  ],
  async seed({ request, gateway, folder }, { id, token, marker }) {
    await writeFile(path.join(folder, 'agents.d', 'helper.yaml'), HELPER);
    await gateway.services.resources.reload();
    const post = async (where: string, body: object) =>
      (await request(where, { method: 'POST', token, body })).body;
    const { conversation } = await post('/api/v2/conversations', { bot_id: 'helper', title: 'Sums' });
    const place = { agent_id: 'helper', session_id: conversation.id };
    await post('/api/v2/chat/stream', { ...place, message: `${QUESTION} ${marker}` });
    const { data: chat } = await post('/v3/chat', {
      bot_id: 'plain',
      additional_messages: [{ role: 'user', content: `${QUESTION} ${marker}` }],
    });
    const query = new URLSearchParams({ conversation_id: chat.conversation_id, chat_id: chat.id });
    for (let look = 0; look < LOOKS; look += 1) {
      const { body } = await request(`/v3/chat/retrieve?${query}`, { token });
      if (body.data.status === 'completed') break;
      await pause(100);
    }
    return {
      session_id: conversation.id,
      '/api/v2/conversations': conversation.id,
      '/api/v2/sessions': conversation.id,
      conversation_id: chat.conversation_id,
      chat_id: chat.id,
      '/api/v2/tenants': id,
    };
  },
} satisfies ConformanceOptions;
