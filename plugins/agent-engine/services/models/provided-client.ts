import {
  type Clock,
  type Ids,
  type Logger,
  lacksOffer,
  linkSignals,
  offerNamed,
  orAborted,
  within,
} from 'agent-gateway';
import {
  type ChatChunk,
  type ChatCompletion,
  type ModelClient,
  ModelErrors,
  type ModelProvider,
} from '../../contract.ts';
import type { ModelSpec } from '../../kinds/model.ts';
import { startLifetime } from './deadlines.ts';
import { withCountedUsage } from './openai-answer.ts';
import { createSoundChoices, soundMessage } from './openai-forms.ts';
import { providedFailure } from './provided-failure.ts';

/** What the client of a plugin's provider is made of. */
export interface ProvidedClientParts {
  readonly spec: ModelSpec;
  readonly apiKey: string | undefined;
  /** The providers that plugins contribute now. */
  readonly providers: () => readonly ModelProvider[];
  /** Milliseconds of a call, and of silence before the next chunk. */
  readonly timeouts: { readonly totalMs: number; readonly idleMs: number };
  readonly beforeCall: () => void;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'opaque'>;
  readonly log: Logger;
}

/**
 * A model of a plugin's provider, which may come and go: it is looked up at each call. Holds the plugin to the promises
 * of `ModelClient`: deadlines, errors of `ModelErrors`, answers that are whole and in OpenAI's form. Throws
 * `model.provider-missing` while no plugin offers the provider.
 */
export function createProvidedClient(parts: ProvidedClientParts): ModelClient {
  const { spec, apiKey, providers, timeouts, beforeCall, clock, ids, log } = parts;
  const newId = () => `call_${ids.opaque()}`;
  let connected: { readonly provider: ModelProvider; readonly client: Promise<ModelClient> } | undefined;

  function client(): Promise<ModelClient> {
    const offers = providers();
    const provider = offerNamed(spec.provider, offers);
    if (provider === undefined) {
      const why = lacksOffer('spec.provider', spec.provider, offers);
      throw ModelErrors.providerMissing(undefined, { cause: new Error(why) });
    }
    if (connected?.provider !== provider) {
      const client = within(timeouts.idleMs, 'the model provider', connect(provider));
      const connecting = { provider, client };
      connected = connecting;
      client.catch(() => {
        // The next call tries again.
        if (connected === connecting) connected = undefined;
      });
    }
    return connected.client;
  }

  async function connect(provider: ModelProvider): Promise<ModelClient> {
    return provider.connect({ model: spec.model, baseUrl: spec.base_url, apiKey, log });
  }

  return {
    async complete(request, context) {
      beforeCall();
      using life = startLifetime(context.signal, timeouts.totalMs, clock);
      const { signal } = life;
      try {
        const asked = client().then((ready) => ready.complete(request, { ...context, signal }));
        return whole(await orAborted(asked, signal), newId);
      } catch (error) {
        throw providedFailure(error, signal, spec.provider, log);
      }
    },
    async *stream(request, context) {
      beforeCall();
      using life = startLifetime(context.signal, timeouts.totalMs, clock);
      const { signal } = life;
      const next = <T>(work: Promise<T>) =>
        within(timeouts.idleMs, 'the model provider', orAborted(work, signal));
      using left = linkSignals(signal);
      const soundChoices = createSoundChoices(newId);
      let open: AsyncIterator<ChatChunk> | undefined;
      let hasFinished = false;
      try {
        const ready = await next(client());
        const chunks = ready.stream(request, { ...context, signal: left.signal })[Symbol.asyncIterator]();
        open = chunks;
        for (;;) {
          const { done, value: chunk } = await next(chunks.next());
          if (done) break;
          if (!Array.isArray(chunk?.choices)) throw new Error('a chunk has no list of choices');
          const choices = soundChoices(chunk.choices);
          if (choices === undefined) throw new Error('a choice is in no known form');
          hasFinished ||= choices.some(({ finish_reason: reason }) => !!reason);
          yield withCountedUsage(choices === chunk.choices ? chunk : { ...chunk, choices });
        }
        open = undefined;
        if (!hasFinished) throw ModelErrors.upstream('The answer of the model broke off.');
      } catch (error) {
        throw providedFailure(error, signal, spec.provider, log);
      } finally {
        // `return` of a generator waits for the `next` that hangs: the signal reaches what it waits for. Not awaited,
        // for the same reason.
        if (open !== undefined) {
          left.abort(ModelErrors.aborted());
          open.return?.().catch((err: unknown) => log.debug({ err }, 'a model call did not end well'));
        }
      }
    },
  };
}

/** The answer, with the usage that it may report. Throws for one that is not whole. */
function whole(completion: ChatCompletion, newId: () => string): ChatCompletion {
  const choice = completion?.choices?.[0];
  const isWhole = typeof choice?.message === 'object' && choice.message !== null && 'finish_reason' in choice;
  if (!isWhole) throw new Error('the answer has no choice with a message and a finish_reason');
  const message = soundMessage(choice.message, newId);
  if (message === undefined) throw new Error('the message of the answer is in no known form');
  return withCountedUsage({ ...completion, choices: [{ ...choice, message }] });
}
