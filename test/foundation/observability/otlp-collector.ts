import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';

/** A span as a collector receives it; ids in hexadecimal. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly resource: Readonly<Record<string, string | number | boolean>>;
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number;
}

export interface Collector {
  /** `127.0.0.1:<port>`. */
  readonly address: string;
  readonly spans: ReceivedSpan[];
  close(): void;
}

/** An OTLP collector over gRPC that keeps the spans. With `answer: false` it takes requests and never answers. */
export async function startCollector({ answer = true } = {}): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const sessions = new Set<http2.ServerHttp2Session>();
  const server = http2.createServer();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', () => undefined);
    stream.on('end', () => {
      if (headers[':path'] === '/opentelemetry.proto.collector.trace.v1.TraceService/Export') {
        // A gRPC message has five bytes of flags and length before it.
        spans.push(...readExport(Buffer.concat(chunks).subarray(5)));
      }
      if (!answer) return;
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.alloc(5));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    close: () => {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}

/** One field of a protobuf message: a number, or bytes. */
type Field = readonly [number: number, value: number | Buffer];

function* fields(message: Buffer): Generator<Field> {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = message[at++]!;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const [number, type] = [tag >> 3, tag & 7];
    if (type === 0) yield [number, varint()];
    else {
      const length = type === 2 ? varint() : type === 1 ? 8 : 4;
      yield [number, message.subarray(at, at + length)];
      at += length;
    }
  }
}

const all = (message: Buffer, number: number): Buffer[] =>
  [...fields(message)].filter(([each]) => each === number).map(([, value]) => value as Buffer);
const first = (message: Buffer, number: number): Buffer => all(message, number)[0] ?? Buffer.alloc(0);
const integer = (message: Buffer, number: number): number =>
  ([...fields(message)].find(([each]) => each === number)?.[1] as number | undefined) ?? 0;

// Field numbers of opentelemetry/proto/{collector/trace,trace,common}/v1.
function readExport(message: Buffer): ReceivedSpan[] {
  return all(message, 1).flatMap((resourceSpans) => {
    const resource = readAttributes(all(first(resourceSpans, 1), 1));
    return all(resourceSpans, 2).flatMap((scope) => all(scope, 2).map((span) => readSpan(span, resource)));
  });
}

function readSpan(span: Buffer, resource: ReceivedSpan['resource']): ReceivedSpan {
  return {
    traceId: first(span, 1).toString('hex'),
    spanId: first(span, 2).toString('hex'),
    traceState: first(span, 3).toString(),
    parentSpanId: first(span, 4).toString('hex'),
    name: first(span, 5).toString(),
    kind: integer(span, 6),
    attributes: readAttributes(all(span, 9)),
    resource,
    status: integer(first(span, 15), 3),
  };
}

function readAttributes(pairs: Buffer[]): Record<string, string | number | boolean> {
  return Object.fromEntries(pairs.map((pair) => [first(pair, 1).toString(), readValue(first(pair, 2))]));
}

function readValue(value: Buffer): string | number | boolean {
  const [field] = fields(value);
  if (field === undefined) return '';
  const [number, content] = field;
  if (number === 1) return content.toString();
  return number === 2 ? content === 1 : (content as number);
}
