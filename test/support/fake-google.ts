import { json, type ProviderScript, rawStream, sse } from './fake-provider.ts';

/*
 * Scripts for `startFakeProvider` that answer like Google's Gemini API, v1beta: `…:generateContent`, and
 * `…:streamGenerateContent?alt=sse` for streams.
 * Source: https://ai.google.dev/api/generate-content
 */

/** A part of an answer's content. */
export type GooglePart =
  | { readonly text: string; readonly thought?: boolean }
  | {
      readonly functionCall: { readonly name: string; readonly args: object };
      readonly thoughtSignature?: string;
    };

/** What an answer is made of; a stream sends each part in an event of its own. */
export interface GoogleAnswer {
  readonly parts?: readonly GooglePart[];
  readonly finishReason?: string;
  readonly usageMetadata?: Readonly<Record<string, number>>;
}

const USAGE = { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 };
const HELLO: readonly GooglePart[] = [{ text: 'Hello ' }, { text: 'from Gemini.' }];

/** A whole answer, or its stream where the request's path asks for one. */
export function google(answer: GoogleAnswer = {}): ProviderScript {
  return (reply) =>
    (reply.request.path.includes(':streamGenerateContent')
      ? rawStream(...googleEvents(answer))
      : whole(answer))(reply);
}

/** An error in Google's form. */
export function googleFailure(
  code: number,
  message = `failure ${code}`,
  headers: Record<string, string> = {},
): ProviderScript {
  return json(code, { error: { code, message, status: 'FAILED' } }, headers);
}

/** The events of a stream. */
export function googleEvents({
  parts = HELLO,
  finishReason = 'STOP',
  usageMetadata = USAGE,
}: GoogleAnswer = {}): string[] {
  return parts.map((part, index) => {
    const isLast = index === parts.length - 1;
    return sse(body([part], isLast ? finishReason : undefined, isLast ? usageMetadata : undefined));
  });
}

function whole({
  parts = HELLO,
  finishReason = 'STOP',
  usageMetadata = USAGE,
}: GoogleAnswer): ProviderScript {
  return json(200, body(parts, finishReason, usageMetadata));
}

function body(
  parts: readonly GooglePart[],
  finishReason: string | undefined,
  usageMetadata: object | undefined,
) {
  return {
    candidates: [{ content: { role: 'model', parts }, index: 0, ...(finishReason && { finishReason }) }],
    ...(usageMetadata && { usageMetadata }),
    modelVersion: 'gemini-fake-1',
    responseId: 'google-fake',
  };
}
