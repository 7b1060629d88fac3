const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const MAX = 40;

/**
 * The template's names and their replacements in a plugin called `name`.
 *
 * @throws Error for a name that could not be the folder of a plugin.
 */
export function inWords(name: string): Readonly<Record<string, string>> {
  if (!NAME.test(name) || name.length > MAX)
    throw new Error(
      `"${name}" is not a plugin name: lower-case words joined by hyphens, ${MAX} characters at most, like weather-alerts`,
    );
  const words = name.split('-');
  const capital = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
  return { 'kebab-name': name, snake_name: words.join('_'), PascalName: capital };
}
