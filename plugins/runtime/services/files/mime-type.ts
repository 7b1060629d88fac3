/** Bytes at the beginning of a file that are looked at; `file-type` asks for as many. */
export const SNIFFED = 4100;

const BINARY = 'application/octet-stream';
const TEXT = 'text/plain';
/** What SVG and XHTML may look like: as a type of its own a browser might run what it holds, so it is text like other markup. */
const MARKUP = 'application/xml';

/**
 * What a file looks like by its first `SNIFFED` bytes; what a client says of it does not count. Text of any kind is `text/plain`, what is not known
 * `application/octet-stream`.
 */
export async function mimeTypeOf(head: Uint8Array): Promise<string> {
  const { fileTypeFromBuffer } = await import('file-type');
  const found = await fileTypeFromBuffer(head);
  if (found !== undefined && found.mime !== MARKUP) return found.mime;
  return isText(head) ? TEXT : BINARY;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

function isText(head: Uint8Array): boolean {
  try {
    // `stream`: the last character may be cut.
    return !CONTROLS.test(new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true }));
  } catch {
    return false;
  }
}
