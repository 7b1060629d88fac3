import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

/** One client that sends one request after the other. */
export interface LoadClient {
  /** Keeps its connection; false: takes a new one for each request. */
  readonly keepAlive: boolean;
  /** Milliseconds between an answer and the next request, at most; 0: at once. */
  readonly pause: number;
}

/** What clients experience. */
export interface Load {
  answered(): number;
  /** What was not an answer of 200, complete. Nothing is sent twice. */
  readonly failures: readonly string[];
  /** Lets each client end its request. */
  stop(): Promise<void>;
}

const MESSAGES = [{ role: 'user', content: 'Hello!' }];
/** A question, an answer that is computed, and one that is streamed; and whether an answer is whole. */
const KINDS = [
  { path: '/v1/me', body: undefined, isWhole: (body: string) => body.endsWith('}') },
  {
    path: '/v1/chat/completions',
    body: JSON.stringify({ model: 'demo', messages: MESSAGES }),
    isWhole: (body: string) => body.includes('"finish_reason":"stop"'),
  },
  {
    path: '/v1/chat/completions',
    body: JSON.stringify({ model: 'demo', stream: true, messages: MESSAGES }),
    isWhole: (body: string) => body.endsWith('data: [DONE]\n\n'),
  },
] as const;

/** Starts the clients, which keep on until they are stopped. */
export function startLoad(url: string, token: string, clients: readonly LoadClient[]): Load {
  const failures: string[] = [];
  let answered = 0;
  let isStopped = false;
  const run = async (client: LoadClient, number: number) => {
    const agent = new Agent({ keepAlive: client.keepAlive, maxSockets: 1 });
    for (let turn = number; !isStopped; turn++) {
      const { path, body, isWhole } = KINDS[turn % KINDS.length]!;
      const name = `${client.keepAlive ? 'kept' : 'new'} connection, ${path}`;
      try {
        const response = await ask(`${url}${path}`, token, body, agent);
        const answer = await text(response);
        if (response.statusCode === 200 && isWhole(answer)) answered += 1;
        else failures.push(`${name}: ${response.statusCode} ${answer.slice(-200)}`);
      } catch (error) {
        failures.push(`${name}: ${(error as NodeJS.ErrnoException).code ?? error}`);
      }
      if (client.pause > 0) await pause(Math.random() * client.pause);
    }
    agent.destroy();
  };
  const running = clients.map(run);
  return {
    answered: () => answered,
    failures,
    stop: async () => {
      isStopped = true;
      await Promise.all(running);
    },
  };
}

function ask(url: string, token: string, body: string | undefined, agent: Agent): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const asked = request(url, {
    method: body === undefined ? 'GET' : 'POST',
    agent,
    headers,
    timeout: 20_000,
  });
  asked.on('response', resolve).on('error', reject);
  asked.on('timeout', () => asked.destroy(new Error('no answer within 20 s')));
  asked.end(body);
  return promise;
}
