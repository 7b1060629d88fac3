/** So many characters in a row of a credential are a part of it, and no chance. */
const PART = 12;

/** Looks for parts of many credentials at once, in time that does not depend on how many they are. */
export function credentialParts() {
  const parts = new Map<string, string>();
  const each = (text: string, use: (part: string) => void) => {
    for (let index = 0; index + PART <= text.length; index += 1) use(text.slice(index, index + PART));
  };
  return {
    /** `what` is said of the secret where a part of it is found. */
    add: (secret: string, what: string) => each(secret, (part) => parts.set(part, what)),
    /** What stays in the text: names before credentials. */
    ignore: (text: string) => each(text, (part) => parts.delete(part)),
    /** The first part in the text, with what is around it. */
    find(text: string): string | undefined {
      const shown = text.replaceAll(/\[REDACTED:[a-z0-9-]+\]/g, ' ');
      for (let index = 0; index + PART <= shown.length; index += 1) {
        const what = parts.get(shown.slice(index, index + PART));
        if (what !== undefined) return `${what}: ${shown.slice(Math.max(0, index - 100), index + 100)}`;
      }
      return undefined;
    },
  };
}
