import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import runtime from '../../../plugins/runtime/plugin.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../../testing/index.ts';
import { type ProviderScript, rawStream, sse } from '../../support/fake-provider.ts';
import type { Lifetime } from '../../support/shared.ts';

/** A gateway with the runtime, on one address; stopped when the test ends, or the file. `plugins` come beside it. */
export async function startRuntime(
  t: Lifetime,
  { plugins = [], ...options }: TestGatewayOptions = {},
): Promise<TestGateway> {
  const gateway = await startTestGateway({
    ...options,
    plugins: [records, agentEngine, runtime, ...plugins],
  });
  t.teardown(gateway.stop);
  return gateway;
}

/** One event of an answer: its name (empty for text), and its data, parsed where it is JSON. */
export interface ReadEvent {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape
  readonly data: any;
}

/** The events of a whole answer. */
export function eventsOf(body: string): readonly ReadEvent[] {
  return body
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => {
      const lines = block.split('\n');
      const of = (field: string) =>
        lines.filter((line) => line.startsWith(`${field}: `)).map((line) => line.slice(field.length + 2));
      const text = of('data').join('\n');
      return {
        event: of('event')[0] ?? '',
        data: /^[{["]/.test(text) && text !== '[DONE]' ? JSON.parse(text) : text,
      };
    });
}

const choice = (delta: object, finish_reason: string | null) => ({
  id: 'chatcmpl-fake',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'fake-model',
  choices: [{ index: 0, delta, finish_reason }],
});

/** A provider's streamed answer of a model that thinks before it speaks. */
export function thinking(thoughts: readonly string[], texts: readonly string[]): ProviderScript {
  return rawStream(
    ...thoughts.map((reasoning_content) => sse(choice({ reasoning_content }, null))),
    ...texts.map((content) => sse(choice({ content }, null))),
    sse(choice({}, 'stop')),
    'data: [DONE]\n\n',
  );
}

/** A provider's streamed answer that calls tools: `[name, arguments]` each. */
export function toolCalls(...calls: readonly (readonly [name: string, input: object])[]): ProviderScript {
  const tool_calls = calls.map(([name, input], index) => ({
    index,
    id: `call_${name}_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));
  return rawStream(
    sse(choice({ role: 'assistant', content: null, tool_calls }, null)),
    sse(choice({}, 'tool_calls')),
    'data: [DONE]\n\n',
  );
}
