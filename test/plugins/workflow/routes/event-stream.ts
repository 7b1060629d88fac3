import { createParser } from 'eventsource-parser';

/** One event of a stream, as a client sees it. */
export interface StreamedEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into data of every shape
  readonly data: any;
}

/** A client of an event stream. */
export interface StreamClient {
  readonly status: number;
  readonly type: string;
  /** What has come so far. */
  readonly events: readonly StreamedEvent[];
  /** Resolves when the server has closed the stream, or `close` was called. */
  readonly ended: Promise<void>;
  close(): void;
}

/** Opens a stream with a GET. */
export async function openStream(
  url: string,
  token: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<StreamClient> {
  const abort = new AbortController();
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...headers },
    signal: abort.signal,
  });
  const events: StreamedEvent[] = [];
  const parser = createParser({
    onEvent: ({ id, event, data }) => events.push({ id, event, data: JSON.parse(data) }),
  });
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
  };
  const ended = read().catch((error) => {
    if (!abort.signal.aborted) throw error;
  });
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    events,
    ended,
    close: () => abort.abort(),
  };
}
