/** Bytes at the beginning of a file that are examined; `file-type` needs as many. */
export const SNIFFED = 4100;

const BINARY = 'application/octet-stream';
const TEXT = 'text/plain';
/**
 * The type as which SVG and XHTML may be recognized: a browser might execute such content, so it becomes text like
 * other markup.
 */
const MARKUP = 'application/xml';

/**
 * The type of a file by its first `SNIFFED` bytes; the type that a client sends is ignored. Text of any kind is
 * `text/plain`, unknown content `application/octet-stream`.
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
