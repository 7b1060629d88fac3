/** The route that the first chat calls. */
export const FIRST_CHAT_PATH = '/v1/chat/completions';

/** What `npm start` prints outside production: a first chat to copy and paste, with the token that opens it. */
export function firstChat(url: string, token: string): string {
  return `
The gateway answers at ${url}. A first chat, to copy and paste:

  curl -N ${url}${FIRST_CHAT_PATH} \\
    -H 'Authorization: Bearer ${token}' \\
    -H 'Content-Type: application/json' \\
    -d '{"model": "default", "stream": true, "messages": [{"role": "user", "content": "Hello! Who are you?"}]}'

`;
}
