/** Text that is markup already. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Content = string | Markup | readonly Markup[];

/** An element; texts and attributes are escaped: they may come from anyone. */
export function element(name: string, attributes: Readonly<Record<string, string | number>>, content: Content): Markup {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeMarkup(String(value))}"`);
  return new Markup(`<${name}${written.join('')}>${textOf(content)}</${name}>`);
}

function textOf(content: Content): string {
  if (typeof content === 'string') return escapeMarkup(content);
  return content instanceof Markup ? content.text : content.map(({ text }) => text).join('');
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
]);

const escapeMarkup = (text: string): string => text.replace(/[&<>"']/g, (char) => ESCAPES.get(char) ?? '');
