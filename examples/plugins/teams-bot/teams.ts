import { createHmac } from 'node:crypto';

/** What Teams does, for the tests. */
export const SECRET = 'shared with Teams';

/** What a test may do otherwise than Teams does. */
export interface Otherwise {
  readonly hook?: string;
  readonly seconds?: number;
  readonly signature?: string;
}

/** Sends a message of Anna to a hook. */
export function send(url: string, id: string, otherwise: Otherwise = {}): Promise<Response> {
  const { hook = 'support', seconds = Math.floor(Date.now() / 1000) } = otherwise;
  const body = JSON.stringify({ id, conversation: 'c1', from: 'anna', text: 'Hello' });
  const signature =
    otherwise.signature ?? createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex');
  return fetch(`${url}/hooks/teams/${hook}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'X-Teams-Timestamp': String(seconds),
      'X-Teams-Signature': signature,
    },
    body,
  });
}
