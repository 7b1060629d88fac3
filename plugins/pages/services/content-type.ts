import { lookup } from 'mrmime';

const IS_TEXT =
  /^(?:text\/|application\/(?:javascript|json|xml|manifest\+json)|[a-z]+\/[\w.-]+\+(?:json|xml)$)/;
const SHRINKS =
  /^(?:application\/(?:wasm|vnd\.ms-fontobject)|font\/(?:ttf|otf|collection)|image\/(?:bmp|x-icon|vnd\.microsoft\.icon))/;

/** The content type of a file, by its name; `application/octet-stream` for an unknown ending. Pure. */
export function contentType(name: string): string {
  const type = lookup(name) ?? 'application/octet-stream';
  return IS_TEXT.test(type) ? `${type}; charset=utf-8` : type;
}

/** Whether such content becomes smaller; images, films, archives and web fonts are small already. Pure. */
export function isCompressible(type: string): boolean {
  return IS_TEXT.test(type) || SHRINKS.test(type);
}
