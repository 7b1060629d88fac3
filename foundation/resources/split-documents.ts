/** One document of a YAML stream. */
export interface DocumentText {
  /** With its `---` line. */
  readonly text: string;
  /** Lines of the stream before it. */
  readonly linesBefore: number;
}

/**
 * Splits a YAML stream into its documents, without those that hold nothing but comments. A line that begins with `---` or `...` separates
 * wherever it stands: YAML allows it in no string (YAML 1.2.2, `c-forbidden`). So a document that is broken, by a
 * quote that is never closed for instance, breaks no other.
 */
export function splitDocuments(stream: string): readonly DocumentText[] {
  const documents: DocumentText[] = [];
  let start = 0;
  let startLine = 0;
  let line = 0;
  const end = (at: number) => {
    const text = stream.slice(start, at);
    if (hasContent(text)) documents.push({ text, linesBefore: startLine });
    start = at;
    startLine = line;
  };
  for (let at = 0; at < stream.length; line += 1) {
    const next = stream.indexOf('\n', at);
    const after = next < 0 ? stream.length : next + 1;
    const marker = stream.slice(at, at + 3);
    if ((marker === '---' || marker === '...') && /^\s?$/.test(stream.slice(at + 3, at + 4))) {
      end(at);
      // What follows an end marker begins a document without a marker of its own.
      if (marker === '...') {
        start = after;
        startLine = line + 1;
      }
    }
    at = after;
  }
  end(stream.length);
  return documents;
}

/** False for blank lines, comments, directives and a bare marker: `%YAML 1.2` before a marker is no document. */
function hasContent(text: string): boolean {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .some((line) => !/^(?:---)?\s*(?:#.*)?$/.test(line) && !line.startsWith('%'));
}
