import { createParser } from 'eventsource-parser';
import { Agent, request } from 'undici';
import { readNumbers, type Tally } from './numbered-stream.ts';

/** Streams that begin at one time. */
const OPENING = 25;
const MAX_STREAMS = 2_000;

/** A client of chats with the agent `bench`. */
export type StreamClient = ReturnType<typeof createStreamClient>;

/** Makes it: for the gateway at `url`, with a key, over `numbered-provider.ts` at `provider`. */
export function createStreamClient(url: string, key: string, provider: string) {
  const dispatcher = new Agent({ connections: MAX_STREAMS });
  const running: { readonly tally: () => Tally; readonly ended: Promise<void> }[] = [];

  async function chat(message: string) {
    const answer = await request(`${url}/api/v2/chat/stream?a2ui=true`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ agent_id: 'bench', message }),
      dispatcher,
      bodyTimeout: 0,
    });
    if (answer.statusCode === 200) return answer.body;
    throw new Error(`a chat answered ${answer.statusCode}: ${await answer.body.text()}`);
  }

  /** Reads a chat to its end. `onText` gets its text, `onDone` is called on the event `done`. */
  async function read(body: AsyncIterable<Buffer>, onText: (text: string) => void, onDone: () => void) {
    const decoder = new TextDecoder();
    const parser = createParser({
      onEvent: ({ event, data }) => {
        if (event === 'text') onText(JSON.parse(data).data.delta);
        else if (event === 'done') onDone();
        else throw new Error(`an event ${event}: ${data}`);
      },
    });
    for await (const part of body) parser.feed(decoder.decode(part, { stream: true }));
  }

  /** Begins a stream and resolves with the milliseconds until its first event. */
  async function begin(): Promise<number> {
    const numbers = readNumbers();
    const began = performance.now();
    const body = await chat('Count.');
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const onText = (text: string) => {
      resolve(performance.now() - began);
      numbers.add(text);
    };
    const ended = read(body, onText, numbers.done);
    ended.catch(reject);
    running.push({ tally: numbers.tally, ended });
    return promise;
  }

  return {
    /** Begins streams; milliseconds until the first event of each. */
    async open(count: number): Promise<readonly number[]> {
      const firsts: number[] = [];
      while (firsts.length < count) {
        const some = Math.min(OPENING, count - firsts.length);
        firsts.push(...(await Promise.all(Array.from({ length: some }, begin))));
      }
      return firsts;
    },
    /** A chat that answers with its system prompt. */
    async prompt(): Promise<string> {
      let text = '';
      await read(
        await chat('prompt'),
        (part) => {
          text += part;
        },
        () => {},
      );
      return text;
    },
    streams: () => running.length,
    chunks: () => running.reduce((sum, { tally }) => sum + tally().chunks, 0),
    /** Ends all streams, and returns their tallies. */
    async finish(): Promise<readonly Tally[]> {
      await request(`${provider}/finish`, { method: 'POST' });
      await Promise.all(running.map(({ ended }) => ended));
      return running.splice(0).map(({ tally }) => tally());
    },
    close: () => dispatcher.close(),
  };
}
