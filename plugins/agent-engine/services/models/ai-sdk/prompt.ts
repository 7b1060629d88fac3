import type {
  JSONObject,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { type FieldError, isJsonObject } from 'agent-gateway';
import type { ChatMessage, ContentPart, ToolCall } from '../../../contract.ts';
import { jsonIn } from '../../json-text.ts';
import { metadataOf, reasoningDetailsOf } from './completion.ts';

type Role<R> = Extract<LanguageModelV4Message, { role: R }>;

/**
 * Translates a conversation; `problems` are the parts that have no form in the AI SDK. System messages come first,
 * wherever they stood: most providers know no other place for them. Results of tools that follow each other become one
 * message. An empty message is left out: providers refuse it. Parts and messages may carry `cache_control`, Anthropic's
 * mark for its prompt cache. Pure.
 */
export function toPrompt(
  messages: readonly ChatMessage[],
  supportedUrls: SupportedUrls,
): { readonly prompt: LanguageModelV4Prompt; readonly problems: readonly FieldError[] } {
  const problems: FieldError[] = [];
  const system: Role<'system'>[] = [];
  const turns: Exclude<LanguageModelV4Message, { role: 'system' }>[] = [];
  const toolNames = new Map<string, string>();

  /** The content as parts, without empty texts, which some providers refuse. */
  function partsOf(message: ChatMessage, pointer: string) {
    const { content } = message;
    if (typeof content === 'string') return content === '' ? [] : [{ type: 'text' as const, text: content }];
    return (content ?? []).flatMap((part, index) => {
      const converted = convertPart(part, (type, url) => isSupportedUrl(supportedUrls, type, url));
      if ('problem' in converted) {
        problems.push({ pointer: `${pointer}/content/${index}`, message: converted.problem });
        return [];
      }
      if (converted.part.type === 'text' && converted.part.text === '') return [];
      return [{ ...converted.part, ...cacheControl(part) }];
    });
  }

  function addResult(message: ChatMessage, pointer: string): void {
    const toolCallId = message.tool_call_id ?? '';
    const toolName = toolNames.get(toolCallId);
    if (toolName === undefined) {
      problems.push({ pointer: `${pointer}/tool_call_id`, message: 'answers no call of this conversation' });
      return;
    }
    const output = toolOutput(partsOf(message, pointer));
    const result = { type: 'tool-result' as const, toolCallId, toolName, output, ...cacheControl(message) };
    const last = turns.at(-1);
    if (last?.role === 'tool') last.content.push(result);
    else turns.push({ role: 'tool', content: [result] });
  }

  for (const [index, message] of messages.entries()) {
    const pointer = `/messages/${index}`;
    switch (message.role) {
      case 'system':
      case 'developer':
        system.push({ role: 'system', content: plainText(message), ...cacheControlWithin(message) });
        break;
      case 'user':
        turns.push({ role: 'user', content: partsOf(message, pointer), ...cacheControl(message) });
        break;
      case 'assistant':
        for (const call of message.tool_calls ?? []) toolNames.set(call.id, call.function.name);
        turns.push({ role: 'assistant', content: said(message), ...cacheControl(message) });
        break;
      case 'tool':
        addResult(message, pointer);
        break;
      default:
        problems.push({
          pointer: `${pointer}/role`,
          message: 'is a role that this model provider does not take',
        });
    }
  }
  const spoken = [...system, ...turns].filter(({ content }) => content.length > 0);
  return { prompt: spoken, problems };
}

/** What the model said: thoughts that can be given back, then text, then calls. */
function said(message: ChatMessage): Role<'assistant'>['content'] {
  const thoughts = reasoningDetailsOf(message).map(({ text, provider_metadata }) => ({
    type: 'reasoning' as const,
    text,
    providerOptions: provider_metadata,
  }));
  const text = plainText(message);
  const calls = (message.tool_calls ?? []).map((call) => {
    const providerOptions = metadataOf(call);
    const { id: toolCallId, function: called } = call;
    return {
      type: 'tool-call' as const,
      toolCallId,
      toolName: called.name,
      input: readArguments(call),
      ...(providerOptions && { providerOptions }),
    };
  });
  return [...thoughts, ...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls];
}

/** Models write broken JSON at times. Providers only take objects back, so that such a text becomes a member of one. */
function readArguments({ function: called }: ToolCall): JSONObject {
  if (called.arguments.trim() === '') return {};
  const value = jsonIn(called.arguments);
  return isJsonObject(value) ? (value as JSONObject) : { arguments: called.arguments };
}

function toolOutput(parts: Role<'user'>['content']): LanguageModelV4ToolResultPart['output'] {
  if (parts.some(({ type }) => type === 'file')) {
    return { type: 'content', value: parts.map(({ providerOptions: _, ...part }) => part) };
  }
  return { type: 'text', value: parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n') };
}

function plainText({ content, refusal }: ChatMessage): string {
  if (typeof content === 'string') return content;
  const texts = (content ?? []).map((part) => part.text ?? (part.refusal as string | undefined) ?? '');
  if (texts.length === 0 && typeof refusal === 'string') return refusal;
  return texts.join('\n');
}

function cacheControl(marked: { readonly [extra: string]: unknown }): {
  readonly providerOptions?: SharedV4ProviderOptions;
} {
  const { cache_control } = marked;
  if (typeof cache_control !== 'object' || cache_control === null) return {};
  return { providerOptions: { anthropic: { cacheControl: cache_control as JSONObject } } };
}

/** The mark of a message or of the last of its parts that has one: a system message is one text. */
function cacheControlWithin(message: ChatMessage): ReturnType<typeof cacheControl> {
  const { content } = message;
  const parts: readonly ContentPart[] = typeof content === 'string' ? [] : (content ?? []);
  const marked = parts.findLast(({ cache_control }) => cache_control !== undefined);
  return cacheControl(marked ?? message);
}

/** A part of a message in the AI SDK's form, or what is wrong with it. */
type ConvertedPart =
  | { readonly part: LanguageModelV4TextPart | LanguageModelV4FilePart }
  | { readonly problem: string };

/** Formats of `input_audio`. */
const AUDIO_TYPES: Readonly<Record<string, string>> = { wav: 'audio/wav', mp3: 'audio/mpeg' };
/** `data:image/png;base64,…` up to its comma; parameters are short. */
const DATA_URL = /^data:([a-z0-9.+-]{1,64}\/[a-z0-9.+-]{1,64})((?:;[^,;]{0,64}){0,4}),/i;

/**
 * Translates the parts of OpenAI's format: `text`, `image_url` (`data:` and http), `input_audio`, `file` with
 * `file_data`.
 *
 * @param canFetch whether the provider can load a URL of this type of media by itself
 */
function convertPart(part: ContentPart, canFetch: (mediaType: string, url: URL) => boolean): ConvertedPart {
  switch (part.type) {
    case 'text':
      return { part: { type: 'text', text: part.text ?? '' } };
    case 'image_url': {
      const url = readString(part.image_url, 'url');
      return convertUrl(url, imageType(url), canFetch);
    }
    case 'input_audio': {
      const mediaType = AUDIO_TYPES[readString(part.input_audio, 'format') ?? ''];
      const data = readString(part.input_audio, 'data');
      if (mediaType === undefined || data === undefined)
        return { problem: 'needs data, and a format of wav or mp3' };
      return { part: { type: 'file', mediaType, data: { type: 'data', data } } };
    }
    case 'file': {
      const converted = convertUrl(readString(part.file, 'file_data'), 'application/pdf', canFetch);
      const filename = readString(part.file, 'filename');
      if ('problem' in converted) return { problem: 'needs file_data with a data: URL' };
      return { part: { ...(converted.part as LanguageModelV4FilePart), ...(filename && { filename }) } };
    }
    default:
      return { problem: 'has a type that this model provider does not take' };
  }
}

function convertUrl(
  text: string | undefined,
  mediaType: string,
  canFetch: (mediaType: string, url: URL) => boolean,
): ConvertedPart {
  if (text === undefined) return { problem: 'needs a URL' };
  // The head alone is looked at: the rest may be megabytes.
  const inline = DATA_URL.exec(text.slice(0, 512));
  if (inline !== null) {
    const isBase64 = /;base64$/i.test(inline[2] ?? '');
    if (!isBase64) return { problem: 'has a data: URL that is not base64' };
    const data = text.slice(inline[0].length);
    return { part: { type: 'file', mediaType: inline[1]!.toLowerCase(), data: { type: 'data', data } } };
  }
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return { problem: 'has no data: or http(s) URL' };
  if (!canFetch(mediaType, url))
    return { problem: 'has a URL that the model provider cannot load; send the content as a data: URL' };
  return { part: { type: 'file', mediaType, data: { type: 'url', url } } };
}

/** The type of an image by its URL's ending; `image` where that says nothing. */
function imageType(url: string | undefined): string {
  const ending = /\.(png|jpe?g|webp|gif)$/i.exec(URL.parse(url?.slice(0, 8192) ?? '')?.pathname ?? '')?.[1];
  return ending === undefined ? 'image' : `image/${ending.toLowerCase().replace('jpg', 'jpeg')}`;
}

function readString(value: unknown, name: string): string | undefined {
  const member = (value as Record<string, unknown> | null | undefined)?.[name];
  return typeof member === 'string' && member !== '' ? member : undefined;
}

/** Which URLs a provider loads by itself: patterns by type of media, `*` and `image/*` included. */
export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

/** Can the provider load this URL? Otherwise the content has to travel in the request. */
function isSupportedUrl(supported: SupportedUrls, mediaType: string, url: URL): boolean {
  const address = url.href.toLowerCase();
  return Object.entries(supported).some(
    ([type, patterns]) => matchesType(type, mediaType) && patterns.some((pattern) => pattern.test(address)),
  );
}

function matchesType(type: string, mediaType: string): boolean {
  if (type === '*' || type === '*/*' || type === mediaType) return true;
  return type.endsWith('/*') && `${mediaType}/`.startsWith(type.slice(0, -1));
}
