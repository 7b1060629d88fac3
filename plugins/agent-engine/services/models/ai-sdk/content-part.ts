import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from '@ai-sdk/provider';
import type { ContentPart } from '../../../contract.ts';

/** A part of a message in the AI SDK's form, or what is wrong with it. */
export type ConvertedPart =
  | { readonly part: LanguageModelV4TextPart | LanguageModelV4FilePart }
  | { readonly problem: string };

/** Formats of `input_audio`. */
const AUDIO_TYPES: Readonly<Record<string, string>> = { wav: 'audio/wav', mp3: 'audio/mpeg' };
/** `data:image/png;base64,…` up to its comma; parameters are short. */
const DATA_URL = /^data:([a-z0-9.+-]{1,64}\/[a-z0-9.+-]{1,64})((?:;[^,;]{0,64}){0,4}),/i;

/**
 * Translates the parts of OpenAI's format: `text`, `image_url` (`data:` and http), `input_audio`, `file` with `file_data`.
 *
 * @param canFetch whether the provider can load a URL of this type of media by itself
 */
export function convertPart(
  part: ContentPart,
  canFetch: (mediaType: string, url: URL) => boolean,
): ConvertedPart {
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
