import { setTimeout as pause } from 'node:timers/promises';
import type { Graph, GraphEdge, GraphNode, JsonObject } from '../../plugins/workflow/contract/graph.ts';
import type { PlainRequest, PlainResponse } from './request.ts';

/** Sends requests to some gateway as somebody who may do everything in his tenant. */
export type Client = (path: string, request?: PlainRequest) => Promise<PlainResponse>;

/** A node that calls the service at `url`, and says for which run, and more. */
export function calls(url: string, id: string, more: JsonObject = {}): GraphNode {
  return {
    id,
    type: 'service_task',
    config: { url: `${url}/${id}`, body: { story: '{{input.story}}', ...more } },
  };
}

/** A graph of these nodes in a row, from a start to an end. */
export function chain(...nodes: readonly GraphNode[]): Graph {
  const all: GraphNode[] = [{ id: 'start', type: 'start' }, ...nodes, { id: 'end', type: 'end' }];
  const edges: GraphEdge[] = all.slice(1).map(({ id }, index) => ({ from: all[index]!.id, to: id }));
  return { nodes: all, edges };
}

/** Status that each node of `storyGraph` has in the end. */
export const STORY_END: Readonly<Record<string, 'completed' | 'skipped'>> = {
  start: 'completed',
  a: 'completed',
  b: 'completed',
  c: 'completed',
  d: 'completed',
  e: 'completed',
  f: 'skipped',
  human: 'completed',
  agent: 'completed',
  end: 'completed',
  refused: 'skipped',
  sorry: 'skipped',
};

/** Nodes of `storyGraph` that call the service. */
export const STORY_CALLS: readonly string[] = ['a', 'b', 'c', 'd', 'e'];

/**
 * A bit of everything: a call, a fork and its join, a condition whose other path dies, a person, an agent, and an
 * outcome whose path dies.
 */
export function storyGraph(url: string): Graph {
  return {
    nodes: [
      { id: 'start', type: 'start' },
      calls(url, 'a'),
      ...['b', 'c', 'd', 'e', 'f', 'refused'].map((id) => calls(url, id, { after: '{{steps.a.output}}' })),
      {
        id: 'human',
        type: 'human_task',
        config: { instructions: 'Say whether {{steps.e.output.node}} is right' },
      },
      { id: 'agent', type: 'agent_task', config: { prompt: 'Thank them for {{input.story}}' } },
      { id: 'end', type: 'end' },
      { id: 'sorry', type: 'end' },
    ],
    edges: [
      { from: 'start', to: 'a' },
      { from: 'a', to: 'b' },
      { from: 'a', to: 'c' },
      { from: 'b', to: 'd' },
      { from: 'c', to: 'd' },
      { from: 'd', to: 'e', condition: { field: 'steps.d.output.ok', op: 'eq', value: true } },
      { from: 'd', to: 'f' },
      { from: 'e', to: 'human' },
      { from: 'f', to: 'human' },
      { from: 'human', to: 'agent', condition: { outcome: 'approve' } },
      { from: 'human', to: 'refused', condition: { outcome: 'refuse' } },
      { from: 'agent', to: 'end' },
      { from: 'refused', to: 'sorry' },
    ],
  };
}

/** Publishes a graph and gives the id of its definition. */
export async function publish(client: Client, graph: Graph, name = 'story'): Promise<string> {
  const made = await client('/v1/workflow-definitions', { method: 'POST', body: { name, graph } });
  if (made.status !== 201) throw new Error(`create: ${made.status} ${JSON.stringify(made.body)}`);
  const path = `/v1/workflow-definitions/${made.body.id}/publish`;
  const published = await client(path, { method: 'POST' });
  if (published.status !== 201)
    throw new Error(`publish: ${published.status} ${JSON.stringify(published.body)}`);
  return made.body.id;
}

/** What somebody who has a run of `storyGraph` carried out has been told of it so far. */
export interface Story {
  readonly name: string;
  readonly definitionId: string;
  /** Told by the answer to its start. */
  runId: string | undefined;
  /** Its task was completed, as an answer said. */
  isApproved: boolean;
  /** Promises that were broken. */
  readonly broken: string[];
}

export function newStory(name: string, definitionId: string): Story {
  return { name, definitionId, runId: undefined, isApproved: false, broken: [] };
}

/** An answer that did not come, or that asks to try again: nothing was promised. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';
}

const APPROVAL = { outcome: 'approve', output: { by: 'a person' }, variables: { isApproved: true } };

/**
 * Starts the run of a story, completes its task, and waits for its end, as a careful client does: what was not
 * acknowledged is said again, with the same key and the same words. What was acknowledged must be there already; where
 * it is not, `broken` says so. Throws `Unanswered` when the gateway goes away.
 *
 * @param patienceMs for the run to come to its end
 */
export async function live(client: Client, story: Story, patienceMs = 60_000): Promise<void> {
  const deadline = performance.now() + patienceMs;
  const { name, definitionId } = story;
  const start = await answered(client, '/v1/workflow-runs', {
    method: 'POST',
    headers: { 'idempotency-key': name },
    body: { definition_id: definitionId, input: { story: name } },
  });
  const expected = story.runId === undefined ? [200, 201] : [200];
  expectStatus(story, 'start', start, expected);
  if (story.runId !== undefined && start.body.id !== story.runId) story.broken.push('the run is another one');
  story.runId = start.body.id as string;
  const path = `/v1/workflow-runs/${story.runId}`;
  for (let isAsked = false; ; await pause(25)) {
    const { body } = await answered(client, path);
    if (body.status === 'completed') return;
    if (performance.now() > deadline)
      throw new Error(`${name} is ${body.status}: ${JSON.stringify(body.error)}`);
    const task = body.steps.find((step: { node_id: string }) => step.node_id === 'human');
    if (task === undefined || isAsked) continue;
    if (story.isApproved && task.status !== 'completed')
      story.broken.push(`the approved task is ${task.status}`);
    if (task.status === 'pending') continue;
    isAsked = true;
    const complete = `/v1/workflow-tasks/${task.id}/complete`;
    const completed = await answered(client, complete, { method: 'POST', body: APPROVAL });
    expectStatus(story, 'complete', completed, [200]);
    story.isApproved = true;
  }
}

/** Sends a request; no connection, 502 and 503 are no answers. */
async function answered(client: Client, path: string, request?: PlainRequest): Promise<PlainResponse> {
  const answer = await client(path, request).catch((cause: unknown) => {
    throw new Unanswered(`${path} was not answered`, { cause });
  });
  if (answer.status !== 503 && answer.status !== 502) return answer;
  throw new Unanswered(`${path} was answered with ${answer.status}`);
}

function expectStatus(
  { broken }: Story,
  what: string,
  { status, body }: PlainResponse,
  wanted: number[],
): void {
  if (!wanted.includes(status)) broken.push(`${what}: ${status} ${JSON.stringify(body)}`);
  if (status >= 400) throw new Error(`${what}: ${status} ${JSON.stringify(body)}`);
}
